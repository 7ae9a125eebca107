"""What lint gives: a finding, its fix, and notes on files that could not be looked at."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Edit:
    """The bytes from ``start`` to ``end`` of the file, as UTF-8, become ``text``."""

    start: int
    end: int
    text: str = ""


@dataclasses.dataclass(frozen=True)
class Fix:
    """A change that a machine can make.

    ``safe``: the program does the same as before when it runs as ordinary Python. ``imports`` are
    statements that the new text needs. ``unless`` names what must not be left in the files linted for
    the fix to be safe: "scripting" or "tracing".
    """

    title: str
    edits: tuple[Edit, ...]
    safe: bool = True
    imports: tuple[str, ...] = ()
    unless: str = ""


@dataclasses.dataclass(frozen=True)
class Finding:
    """One use of TorchScript. Lines and columns count from 1, columns in characters; the end is exclusive.

    ``symbol`` is the name as torch has it, ``source`` the line that it stands in, ``cell`` the number of
    the cell of a notebook, whose lines are counted by themselves.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    rule: str
    severity: str
    symbol: str
    message: str
    replacement: str
    source: str
    fix: Fix | None = None
    cell: int | None = None

    def __str__(self) -> str:
        return f"{self.place}: {self.rule} {self.message}"

    @property
    def place(self) -> str:
        """``path:line:column``, for a notebook ``path:cell 3:line:column``."""
        cell = "" if self.cell is None else f"cell {self.cell}:"
        return f"{self.path}:{cell}{self.line}:{self.column}"

    def to_json(self) -> dict[str, Any]:
        """Plain values; of the fix its title and whether it is safe."""
        document = dataclasses.asdict(self)
        document["fix"] = self.fix and {"title": self.fix.title, "safe": self.fix.safe}
        return document


@dataclasses.dataclass(frozen=True)
class Note:
    """A file, or a cell of it, that was not looked at, and why."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"
