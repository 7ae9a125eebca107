"""What the doctor says of a machine."""

from __future__ import annotations

import dataclasses
from typing import Any, Optional

from ._machine import Machine
from ._rules import PROBLEM, UNKNOWN, Finding

WORKS, BROKEN, UNSURE = "works", "broken", "unknown"


@dataclasses.dataclass(frozen=True)
class Install:
    """The build that the machine needs, and the commands that install it."""

    version: str
    variant: str
    commands: dict[str, str]
    source: str
    wanted: bool  # the problem, or the user's question, asks for this installation


@dataclasses.dataclass(frozen=True)
class Diagnosis:
    """The answer: ``status`` is works, broken or unknown; ``summary`` says it in one sentence."""

    status: str
    summary: str
    findings: tuple[Finding, ...]
    install: Optional[Install]
    machine: Machine
    ostinato: str  # what Ostinato will use: its instruction set
    table_made: str
    want: str = ""

    @property
    def ok(self) -> bool:
        """It works."""
        return self.status == WORKS

    @property
    def exit_status(self) -> int:
        """0 it works, 1 it does not, 2 that could not be seen."""
        return {WORKS: 0, BROKEN: 1}.get(self.status, 2)

    def to_json(self) -> dict[str, Any]:
        """A document of plain values."""
        document = dataclasses.asdict(self)
        document["machine"] = self.machine.to_json()
        document["ok"] = self.ok
        return document

    def __str__(self) -> str:
        from ._text import text

        return text(self)


def status_of(findings: tuple[Finding, ...]) -> str:
    """A problem is one; without any, something unknown leaves the answer open."""
    levels = {each.level for each in findings}
    return BROKEN if PROBLEM in levels else UNSURE if UNKNOWN in levels else WORKS
