"""The whole way from a machine to a diagnosis; a pure function once the machine is known."""

from __future__ import annotations

from typing import Any, Optional, Union

from ._case import Case
from ._choose import Choice, choose, choose_cpu
from ._commands import commands
from ._diagnosis import WORKS, Diagnosis, Install, status_of
from ._machine import Machine, from_json, read
from ._rules import PROBLEM, UNKNOWN, Finding, findings
from ._table import Build, table


def diagnose(
    machine: Union[Machine, dict[str, Any], str, None] = None, *, want: Optional[str] = None
) -> Diagnosis:
    """Say which torch a machine needs, and whether the one it has works.

    ``machine`` is a record, its JSON document, or the path of one that
    ``ostinato doctor --collect`` wrote; without it, this machine is looked at.
    ``want`` asks for versions or a build: ``"torch==2.9"``, ``"cu126"``.
    """
    record = _record(machine)
    facts = table()
    case = Case(record, facts, want)
    choice = choose(case) if case.platform else Choice(None)
    found = findings(case, choice)
    status = status_of(found)
    build, asked = _build(case, choice, found)
    install = _install(case, build, asked) if build else None
    summary = _summary(case, choice, found, status)
    isa = instruction_set(record)
    return Diagnosis(status, summary, found, install, record, isa, facts.made, case.wanted.text)


def _record(machine: Union[Machine, dict[str, Any], str, None]) -> Machine:
    if machine is None:
        from ._probe import look

        return look()
    if isinstance(machine, Machine):
        return machine
    return from_json(machine) if isinstance(machine, dict) else read(str(machine))


def _build(case: Case, choice: Choice, found: tuple[Finding, ...]) -> tuple[Optional[Build], bool]:
    """What to install, and whether the answer asks for it."""
    asked = bool(case.wanted.text) or any(
        each.reinstall for each in found if each.level in (PROBLEM, UNKNOWN)
    )
    if choice.build is not None:
        return choice.build, asked
    if case.wanted.text or not case.platform:
        return None, False
    # Nothing runs on the device: the processor is left.
    return choose_cpu(case), asked or case.machine.torch is None


def _install(case: Case, build: Build, asked: bool) -> Install:
    return Install(build.version, build.variant, commands(case, build), build.source, asked)


def _summary(case: Case, choice: Choice, found: tuple[Finding, ...], status: str) -> str:
    for level in (PROBLEM, UNKNOWN):
        for each in found:
            if each.level == level:
                return each.message
    if status == WORKS and case.wanted.text and choice.build is not None:
        return f"torch {choice.build.version} with {choice.build.variant} runs here."
    torch = case.machine.torch
    version = torch.version if torch else ""
    return f"torch {version} works here: {_where(case)}."


def _where(case: Case) -> str:
    build = case.installed
    kind = build.kind if build else "cpu"
    gpus = {"cuda": case.gpus, "rocm": case.machine.amd.gpus, "xpu": case.machine.intel.gpus}.get(kind, ())
    if gpus and kind == case.device:
        names = " and ".join(dict.fromkeys(gpu.name or "the GPU" for gpu in gpus))
        return f"{build.variant if build else ''} on {names}"
    return "on the GPU of Apple (mps) and the CPU" if case.device == "mps" else "CPU only"


def instruction_set(machine: Machine) -> str:
    """The instruction set that Ostinato's kernels will use, "" where that is unknown."""
    flags = set(machine.cpu.flags)
    if machine.cpu.machine.lower() not in ("x86_64", "amd64"):
        return "baseline" if machine.cpu.machine else ""
    if not flags:
        return ""
    if not {"avx2", "fma"} <= flags:
        return "baseline"
    return "avx512" if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags else "avx2"
