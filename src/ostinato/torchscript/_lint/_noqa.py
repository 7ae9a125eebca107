"""``# noqa`` and ``# noqa: OST101, OST102``, in C++ after ``//``."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NOQA = re.compile(r"(?:#|//)\s*noqa(?::\s*(?P<codes>[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*))?", re.IGNORECASE)


def is_suppressed(rule: str, lines: Iterable[str]) -> bool:
    """Whether a comment in one of the lines of a finding asks not to report it."""
    for line in lines:
        found = _NOQA.search(line) if "noqa" in line.lower() else None
        if found and (found["codes"] is None or rule in re.split(r"[,\s]+", found["codes"].upper())):
            return True
    return False
