"""What a rule says."""

from __future__ import annotations

import dataclasses

PROBLEM, UNKNOWN, WARNING, NOTE = "problem", "unknown", "warning", "note"


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that a rule found, with the reason and where that is written."""

    rule: str  # its stable name
    level: str  # problem, unknown, warning, note
    message: str  # one sentence
    why: str = ""
    source: str = ""  # an address
    fix: tuple[str, ...] = ()  # commands or steps, where they are not the installation of torch
    reinstall: bool = False  # the installation of torch is the way out
