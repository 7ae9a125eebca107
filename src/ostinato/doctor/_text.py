"""A diagnosis as plain lines, for pipes and for where rich is not installed."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from ._diagnosis import BROKEN, WORKS, Diagnosis
from ._explain import Explanation
from ._machine import Machine
from ._rules import NOTE, Finding

HEADS = {WORKS: "OK", BROKEN: "PROBLEM"}
_WIDTH = 100


def text(diagnosis: Diagnosis) -> str:
    """The whole page."""
    lines = [f"{HEADS.get(diagnosis.status, 'UNKNOWN')}: {diagnosis.summary}", ""]
    lines += [f"  {name:<10} {value}" for name, value in machine_rows(diagnosis.machine, diagnosis.ostinato)]
    first = True
    for each in diagnosis.findings:
        if each.level == NOTE:
            continue
        lines += ["", *_finding(each, told=first and each.message == diagnosis.summary)]
        first = False
    lines += _install(diagnosis)
    notes = [each for each in diagnosis.findings if each.level == NOTE]
    if notes:
        lines += ["", "Notes"]
        for each in notes:
            lines += _paragraph(each.message, "  - ", "    ")
    lines += ["", f"Facts as of {diagnosis.table_made}."]
    return "\n".join(lines)


def _finding(each: Finding, told: bool) -> Iterable[str]:
    if not told:
        yield from _paragraph(each.message, f"{each.level}: ", "  ")
    if each.why:
        yield from _paragraph(each.why, "  because ", "    ")
    if each.source:
        yield f"  see     {each.source}"
    for fix in each.fix:
        yield f"  do      {fix}"


def _install(diagnosis: Diagnosis) -> Iterable[str]:
    install = diagnosis.install
    if install is None:
        return
    yield ""
    yield f"{install_heading(diagnosis)} torch {install.version}, {install.variant}"
    for name, command in install.commands.items():
        yield f"  {name:<6} {command}"
    yield f"  see    {install.source}"


def install_heading(diagnosis: Diagnosis) -> str:
    """What the commands are for."""
    if diagnosis.install is not None and diagnosis.install.wanted:
        return "Install"
    return "For a new environment:"


def machine_rows(machine: Machine, isa: str) -> list[tuple[str, str]]:
    """What was seen, a line each; what is unknown is left out."""
    system, python = machine.system, machine.python
    where = [each for each in ("WSL" if system.wsl else "", system.container) if each]
    name = system.distribution or " ".join(each for each in (system.name, system.version) if each)
    rows = [
        ("system", ", ".join(each for each in (name, machine.cpu.machine, system.libc, *where) if each)),
        (
            "processor",
            ", ".join(each for each in (machine.cpu.name, f"Ostinato uses {isa}" if isa else "") if each),
        ),
        ("python", ", ".join(each for each in (python.version, python.environment) if each)),
    ]
    nvidia = machine.nvidia
    cuda = f", CUDA {nvidia.cuda}" if nvidia.cuda else ""
    if nvidia.gpus or nvidia.driver:
        rows.append(("nvidia", f"driver {nvidia.driver or 'unknown'}{cuda}"))
    for gpu in (*nvidia.gpus, *machine.amd.gpus, *machine.intel.gpus):
        rows.append(("gpu", gpu.name + (f" ({gpu.architecture})" if gpu.architecture else "")))
    for torch in machine.torches:
        rows.append(
            (
                "torch",
                f"{torch.version or 'version unknown'} in {torch.path}" if torch.path else torch.version,
            )
        )
    beside = [
        f"{name} {machine.packages[name]}"
        for name in ("torchvision", "torchaudio", "triton")
        if name in machine.packages
    ]
    if beside:
        rows.append(("beside it", ", ".join(beside)))
    return [(name, value) for name, value in rows if value]


def explanations(found: tuple[Explanation, ...]) -> str:
    """The page of ``--error``."""
    lines: list[str] = []
    for each in found:
        lines += [each.line, ""]
        lines += _paragraph(each.message, "  means   ", "          ")
        if each.why:
            lines += _paragraph(each.why, "  because ", "          ")
        lines += [f"  do      {fix}" for fix in each.fix]
        lines += [f"  see     {each.source}", ""]
    return "\n".join(lines).rstrip()


def _paragraph(text: str, head: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=head,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
