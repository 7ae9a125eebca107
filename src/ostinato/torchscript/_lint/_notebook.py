"""The findings of a notebook: its cells of code as one module, so that an import in one serves the next."""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import warnings
from typing import Any

from ._finding import Finding, Note
from ._python import check_python
from ._source import Source

_MAGIC = re.compile(r"^([ \t]*)(?:[%!?].*|[\w.]+\?{1,2}[ \t]*)$", re.MULTILINE)
_TAKES_CODE = ("%%time", "%%timeit", "%%capture", "%%prun")
_SHELL = re.compile(r"^([ \t]*[\w, \t]+=[ \t]*)[!%].*$", re.MULTILINE)


class Unreadable(Exception):
    """It is no notebook."""


def check_notebook(path: str, raw: bytes) -> tuple[list[Finding], list[Note]]:
    """The findings, and notes on cells that are not Python."""
    notes: list[Note] = []
    lines: list[str] = []
    places: list[tuple[int, int]] = []  # cell and line of each line of the module
    for number, cell in _cells(raw):
        code = _plain(cell)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            notes.append(Note(path, f"cell {number} is not Python ({error}); it was not looked at"))
            continue
        inside = code.split("\n")
        lines += inside
        places += [(number, line) for line in range(1, len(inside) + 1)]
    found = []
    for each in check_python(path, Source("\n".join(lines).encode())):
        (cell_number, line), (_, last) = places[each.line - 1], places[each.end_line - 1]
        found.append(dataclasses.replace(each, line=line, end_line=last, cell=cell_number, fix=None))
    return found, notes


def _cells(raw: bytes) -> list[tuple[int, str]]:
    try:
        document: Any = json.loads(raw)
        kernel = document.get("metadata", {}).get("kernelspec", {}).get("language", "python")
        if kernel != "python":
            return []
        return [
            (number, "".join(cell["source"]))
            for number, cell in enumerate(document["cells"], 1)
            if cell["cell_type"] == "code"
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unreadable(f"it is no notebook ({type(error).__name__})") from None


def _plain(cell: str) -> str:
    """The cell as Python: what only a notebook understands becomes ``pass``."""
    cell = cell.replace("\r\n", "\n").replace("\r", "\n")
    first = cell.lstrip().split(None, 1)[:1]
    if first and first[0].startswith("%%") and first[0] not in _TAKES_CODE:
        return "\n" * cell.count("\n")
    return _SHELL.sub(r"\1None", _MAGIC.sub(r"\1pass", cell))
