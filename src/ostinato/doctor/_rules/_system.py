"""The system and the interpreter: does any wheel of torch run there at all."""

from __future__ import annotations

from collections.abc import Iterator

from .._case import Case
from .._choose import Choice
from ._finding import PROBLEM, UNKNOWN, Finding


def platform(case: Case, choice: Choice) -> Iterator[Finding]:
    """Wheels exist for Linux, Windows and macOS on x86-64 and ARM."""
    system, cpu = case.machine.system, case.machine.cpu
    if case.platform == "windows-arm64":
        yield Finding(
            "windows-arm",
            UNKNOWN,
            "For Windows on ARM the table has no builds of torch.",
            "PyPI has none; some versions of Python have builds for the CPU on download.pytorch.org",
            "https://github.com/pytorch/pytorch/issues/195033",
            ("look for your Python at https://download.pytorch.org/whl/cpu/torch/",),
        )
    elif not case.platform:
        yield Finding(
            "platform",
            UNKNOWN if not (system.name and cpu.machine) else PROBLEM,
            f"torch has no wheels for {system.name or 'this system'} on {cpu.machine or 'this processor'}.",
            "PyTorch publishes wheels for Linux (x86_64, aarch64), Windows (x86_64) and macOS (arm64)",
            case.table.source("release.md"),
            ("build torch from source, or use conda-forge if it has your platform",),
        )


def interpreter(case: Case, choice: Choice) -> Iterator[Finding]:
    """CPython of 64 bits, neither too old nor too new."""
    python = case.machine.python
    if python.implementation.lower() not in ("cpython", ""):
        yield Finding(
            "python-implementation",
            PROBLEM,
            f"torch has no wheels for {python.implementation}.",
            "all wheels are tagged cp, for CPython",
            case.table.source("pypi"),
            ("install CPython and make a virtual environment with it",),
        )
    elif python.bits != 64:
        yield Finding(
            "python-bits",
            PROBLEM,
            f"This Python is of {python.bits} bits, and torch has wheels for 64 bits only.",
            "all wheels are tagged x86_64, amd64, aarch64 or arm64",
            case.table.source("pypi"),
            ("install the 64-bit Python",),
        )
    else:
        yield from _version(case)


def _version(case: Case) -> Iterator[Finding]:
    tag = case.python_tag
    if tag is None or not case.platform:
        return
    versions = [each for each in case.table.versions if each in case.wanted.tests]
    known = _tags(case, versions)
    if not known or any(tag in case.table.python_tags(each, case.platform) for each in versions):
        return  # a platform without any wheel has a rule of its own
    version = case.machine.python.version
    what = f"torch {case.wanted.tests.text}" if case.wanted.tests.text else "torch"
    yield Finding(
        "python-version",
        PROBLEM,
        f"{what} has no wheel for Python {version}{_threads(case)} on {case.platform}.",
        f"the wheels on the registry are for {known}",
        case.table.source("pypi"),
        (other_python(case, versions),),
    )


def _tags(case: Case, versions: list[str]) -> str:
    tags = {tag for each in versions for tag in case.table.python_tags(each, case.platform)}
    return ", ".join(sorted(tags, key=_order))


def _order(tag: str) -> tuple[int, str]:
    return (int(tag[3:].rstrip("t")), tag)


def _threads(case: Case) -> str:
    return " (free-threaded)" if case.machine.python.free_threaded else ""


def other_python(case: Case, versions: list[str]) -> str:
    """How to get a Python that the newest of some versions has wheels for."""
    for version in versions:
        tags = [each for each in case.table.python_tags(version, case.platform) if not each.endswith("t")]
        if tags:
            best = tags[-2] if len(tags) > 2 else tags[-1]
            return f"uv venv --python 3.{best[3:]}   # torch {version} has wheels for it"
    return "use another Python"


def libraries(case: Case, choice: Choice) -> Iterator[Finding]:
    """glibc new enough, and not musl; macOS new enough."""
    if not case.platform or choice.build is not None:
        return
    refused = [refusal for _, refusal in choice.refused if refusal.rule == "system"]
    if not refused or any(refusal.rule not in ("system", "python") for _, refusal in choice.refused):
        return
    musl = case.machine.system.libc.startswith("musl")
    yield Finding(
        "musl" if musl else "system-old",
        PROBLEM,
        "torch has no wheels for musl, the C library of Alpine."
        if musl
        else f"{_first_up(refused[0].reason)}.",
        "wheels tagged manylinux need glibc"
        if musl
        else "pip installs no wheel whose tag the system does not meet",
        case.table.source("pypi"),
        ("use an image with glibc, such as python:3.12-slim",)
        if musl
        else ("use a newer system or an older torch",),
    )


def macos_intel(case: Case, choice: Choice) -> Iterator[Finding]:
    """The last torch for Intel Macs is 2.2.2."""
    if case.platform != "macos-x86_64":
        return
    last = next(each for each in case.table.versions if case.table.python_tags(each, case.platform))
    if case.wanted.tests.text and choice.build is None:
        yield Finding(
            "macos-intel",
            PROBLEM,
            f"torch{case.wanted.tests.text} has no wheel for Intel Macs; the last that has is {last}.",
            "the registry has no macosx x86_64 wheel of a later version",
            case.table.source("pypi"),
            (f"pip install torch=={last} 'numpy<2'",),
        )


def _first_up(text: str) -> str:
    return text[:1].upper() + text[1:]
