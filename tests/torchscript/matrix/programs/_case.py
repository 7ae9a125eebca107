"""How the programs of this folder are listed: by construct, each with the calls to compare."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Row:
    """Calls of one fresh model, in order; ``error`` is what the last of them says where it raises."""

    calls: tuple[tuple[str, tuple[Any, ...]], ...]
    error: str | None = None


@dataclasses.dataclass(frozen=True)
class Case:
    """A function or module class of a construct."""

    construct: str
    code: Callable[..., Any]
    rows: tuple[Row, ...]

    @property
    def name(self) -> str:
        return f"{self.construct}-{self.code.__name__}".replace(" ", "_")


CASES: list[Case] = []


def case(construct: str, *rows: Any) -> Callable[[Any], Any]:
    """Lists what it stands above; a row is the arguments of ``forward``, or a list of calls, method first."""

    def listed(code: Any) -> Any:
        CASES.append(Case(construct, code, tuple(map(_row, rows or ((),)))))
        return code

    return listed


def raises(text: str, *arguments: Any) -> Row:
    """A call of ``forward`` that raises, with a message that has ``text``."""
    return Row((("forward", arguments),), text)


def _row(row: Any) -> Row:
    if isinstance(row, Row):
        return row
    if isinstance(row, list):
        return Row(tuple((name, tuple(arguments)) for name, *arguments in row))
    return Row((("forward", row),))
