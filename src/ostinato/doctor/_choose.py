"""Which build a machine needs: the newest that runs, and what a newer driver would allow."""

from __future__ import annotations

import dataclasses
from typing import Optional

from ._case import Case
from ._fits import Refusal, refusals
from ._table import Build
from ._versions import numbers


@dataclasses.dataclass(frozen=True)
class Choice:
    """The build to install, the one that a newer driver would allow, and why newer ones are not it."""

    build: Optional[Build]
    driver: str = ""  # with this driver or a later one...
    with_driver: Optional[Build] = None  # ...this build runs too
    unsure: Optional[Build] = None  # the newest that may run: the table does not say
    refused: tuple[tuple[Build, Refusal], ...] = ()  # newest first
    device: str = "cpu"  # that the choice uses
    only: str = ""  # the one GPU of several that the build is for, where none runs on all


def choose(case: Case) -> Choice:
    """The newest build that the user takes and that runs; for the CPU where no device allows another."""
    device = _device(case)
    refused: list[tuple[Build, Refusal]] = []
    chosen: Optional[Build] = None
    with_driver: Optional[Build] = None
    unsure: Optional[Build] = None
    for build in _candidates(case, device):
        found = refusals(case, build)
        if not found:
            chosen = build
            break
        refused.append((build, found[0]))
        if all(each.rule == "driver" for each in found):
            with_driver = with_driver or build
        if all(each.unknown for each in found):
            unsure = unsure or build
    if chosen is None and unsure is None and len({gpu.architecture for gpu in case.gpus}) > 1:
        return _for_one(case)
    driver = _driver(case, with_driver)
    return Choice(chosen, driver, with_driver, unsure, tuple(refused), device)


def _for_one(case: Case) -> Choice:
    """The choice for the newest of several GPUs."""
    best = max(case.gpus, key=lambda gpu: numbers(gpu.architecture))
    nvidia = dataclasses.replace(case.machine.nvidia, gpus=(best,))
    alone = Case(dataclasses.replace(case.machine, nvidia=nvidia), case.table, case.wanted.text)
    return dataclasses.replace(choose(alone), only=best.name)


def with_other_python(case: Case) -> Optional[Build]:
    """The build that the machine could use with another Python, None where its own is no hindrance."""
    if not any(refusal.rule == "python" for _, refusal in choose(case).refused):
        return None
    python = dataclasses.replace(case.machine.python, version="")
    other = Case(dataclasses.replace(case.machine, python=python), case.table, case.wanted.text)
    return choose(other).build


def choose_cpu(case: Case) -> Optional[Build]:
    """The newest build for the CPU that runs here."""
    for build in _candidates(case, "cpu"):
        if not refusals(case, build):
            return build
    return None


def _device(case: Case) -> str:
    wanted = case.wanted.variant
    if wanted:
        return {"cpu": "cpu", "xpu": "xpu", "mps": "mps"}.get(
            wanted, "rocm" if wanted.startswith("rocm") else "cuda"
        )
    return case.device


def _candidates(case: Case, device: str) -> list[Build]:
    kind = "cpu" if device == "mps" else device
    return [
        build
        for version in case.table.versions
        for build in case.table.builds(version, case.platform)
        if build.kind == kind and version in case.wanted.tests and (kind == "cpu" or case.wanted.takes(build))
    ]


def _driver(case: Case, build: Optional[Build]) -> str:
    row = case.table.driver_for(build.cuda, case.driver_system) if build else None
    return row["driver"] if row else ""
