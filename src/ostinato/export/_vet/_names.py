"""Names and texts that may safely end up inside Python code that torch generates.

torch turns a program into source text and runs it: names of values become
variables, names of weights become attribute accesses, keys and text arguments
of the call become comparisons between quotes. So each of them has a form that
leaves no way out of where it is put.
"""

from __future__ import annotations

import keyword
import re
from typing import Any

from ._types import Bad, matching, shown

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,511}", re.ASCII)
_QUOTABLE = re.compile(r"[^'\"\\{}\x00-\x1f\x7f\u0085\u2028\u2029\ud800-\udfff]{0,1024}")


def identifier(value: Any) -> None:
    """The name of a value: a Python identifier in ASCII that is no keyword."""
    if not isinstance(value, str) or not _IDENTIFIER.fullmatch(value) or keyword.iskeyword(value):
        raise Bad(f"{shown(value)} is not a plain identifier")


def identifier_or_empty(value: Any) -> None:
    if value != "":
        identifier(value)


def quotable(value: Any) -> None:
    """A text that may stand between quotes: no quotes, backslashes, braces or control characters."""
    if not isinstance(value, str) or not _QUOTABLE.fullmatch(value):
        raise Bad(f"{shown(value)} is not a text free of quotes, backslashes, braces and control characters")


# The dotted name of a weight, a buffer or a submodule.
qualified_name = matching(r"[A-Za-z0-9_][A-Za-z0-9_\-]*(\.[A-Za-z0-9_\-]+){0,63}", "a dotted name")
MODEL_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}"
