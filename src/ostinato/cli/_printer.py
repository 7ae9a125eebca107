"""Data to standard output, everything else to standard error."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from .._errors import OstinatoError

if TYPE_CHECKING:
    from rich.console import Console

_UNLIMITED = 100_000  # a pipe has no width: nothing is wrapped or cut there


class Printer:
    """Prints for people, or with ``json_output`` for programs; colours on terminals without NO_COLOR."""

    def __init__(self, json_output: bool = False) -> None:
        self.json_output = json_output

    # Made when first needed: rich takes longer to import than a light verb to run.
    @functools.cached_property
    def _out(self) -> Console:
        return _console(sys.stdout)

    @functools.cached_property
    def _err(self) -> Console:
        return _console(sys.stderr)

    def result(self, document: Any, text: str | None = None) -> None:
        """The document as JSON where that is wanted; otherwise the text, if any."""
        if self.json_output:
            sys.stdout.write(json.dumps(document, indent=2, default=str) + "\n")
        elif text is not None:
            self._out.print(text)

    def heading(self, text: str) -> None:
        """A line above a table; nothing with JSON."""
        if not self.json_output:
            self._out.print(text, style="bold")

    def table(
        self, rows: Sequence[Sequence[str]], header: Sequence[str] = (), right: Sequence[int] = ()
    ) -> None:
        """Aligned columns, those in ``right`` flush right; nothing with JSON."""
        if self.json_output or not rows:
            return
        widths = [max(map(len, column)) for column in zip(*rows, *([header] if header else []), strict=True)]
        for i, row in enumerate([header, *rows] if header else rows):
            cells = [
                cell.rjust(width) if column in right else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            self._out.print("  ".join(cells).rstrip(), style="bold" if header and not i else None)

    def note(self, text: str) -> None:
        """A line about the work, on standard error."""
        self._err.print(text, style="dim")

    @contextmanager
    def progress(self) -> Iterator[Any]:
        """Give a function that says what is being done: a moving line on a terminal, else plain lines."""
        if not self._err.is_terminal:
            yield self.note
            return
        with self._err.status("") as status:

            def tell(line: str) -> None:
                if line.startswith("found "):
                    self.note(line)
                status.update(line)

            yield tell

    def error(self, error: OstinatoError) -> None:
        """One sentence and a hint."""
        self._err.print("error: ", style="bold red", end="")
        self._err.print(error.message)
        if error.hint:
            self._err.print(f"hint: {error.hint}")


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    plain: dict[str, Any] = {"markup": False, "highlight": False, "emoji": False, "soft_wrap": True}
    return Console(file=stream, width=None if stream.isatty() else _UNLIMITED, **plain)
