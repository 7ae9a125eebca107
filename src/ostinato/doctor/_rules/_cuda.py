"""The installed torch beside NVIDIA's GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from .._case import Case
from .._choose import Choice, with_other_python
from .._fits import Refusal, no_answer, no_kernels, runs_on
from .._table import Build
from .._versions import at_least, numbers
from ._finding import NOTE, PROBLEM, UNKNOWN, WARNING, Finding
from ._system import other_python


def _present(case: Case) -> bool:
    torch = case.machine.torch
    return not case.wanted.text and torch is not None and bool(torch.version) and not torch.broken


def cpu_build(case: Case, choice: Choice) -> Iterator[Finding]:
    """A GPU, and a torch that cannot use it."""
    torch = case.machine.torch
    if not _present(case) or torch is None or case.device != "cuda" or torch.cuda:
        return
    names = " and ".join(dict.fromkeys(gpu.name or "an NVIDIA GPU" for gpu in case.gpus)) or "an NVIDIA GPU"
    build = {"cpu": "the CPU only"}.get(torch.variant, torch.variant)
    usable = choice.build is not None or choice.with_driver is not None or choice.unsure is not None
    yield Finding(
        "cpu-build",
        PROBLEM if usable else NOTE,
        f"torch {torch.version} is built for {build}, and the machine has {names}.",
        _why_cpu(case),
        case.table.source("pypi"),
        reinstall=usable,
    )


def _why_cpu(case: Case) -> str:
    if case.platform == "windows-x86_64":
        return "PyPI has only CPU builds for Windows; CUDA builds are on download.pytorch.org"
    if case.platform == "linux-aarch64":
        return "before 2.11 PyPI had only CPU builds for aarch64"
    return "it came from the index for CPU builds"


def kernels(case: Case, choice: Choice) -> Iterator[Finding]:
    """The build has code for each device."""
    build = case.installed
    if not _present(case) or build is None or build.kind != "cuda":
        return
    for gpu in dict.fromkeys(case.gpus):
        runs = runs_on(gpu.architecture, build)
        if runs is None:
            yield Finding(
                "kernels-unknown",
                UNKNOWN,
                f"Whether torch {build.version}+{build.variant} has code for {gpu.name or 'the GPU'} "
                f"({gpu.architecture or 'compute capability unknown'}) is unknown.",
                *no_answer(gpu.architecture, build),
            )
        elif not runs:
            some = [other for other in case.gpus if runs_on(other.architecture, build)]
            yield Finding(
                "no-kernels",
                WARNING if some and choice.build is None else PROBLEM,
                _first_up(no_kernels(gpu.name, gpu.architecture, build)) + ".",
                _why_no_kernels(case, gpu.architecture, build.variant),
                build.source,
                reinstall=choice.build is not None,
            )


def toolkit(case: Case, choice: Choice) -> Iterator[Finding]:
    """A build that the table does not have: still, its CUDA compiles for some generations only."""
    torch = case.machine.torch
    if not _present(case) or torch is None or not torch.cuda or case.installed is not None:
        return
    row = case.table.toolkit(torch.cuda)
    for gpu in dict.fromkeys(case.gpus):
        device = numbers(gpu.architecture)
        if row and device and not numbers(row["oldest"]) <= device <= _whole_major(row["newest"]):
            yield Finding(
                "no-kernels",
                PROBLEM,
                f"{gpu.name or 'The GPU'} has compute capability {gpu.architecture}, and torch "
                f"{torch.version} was built with CUDA {torch.cuda}, which knows {row['oldest']} to "
                f"{row['newest']} only.",
                "the first operation fails with 'no kernel image is available for execution on the device'",
                case.table.source(row["source"]),
                reinstall=choice.build is not None,
            )


def _whole_major(capability: str) -> tuple[int, ...]:
    # Code for 12.0 runs on all of 12.x.
    return (numbers(capability)[0], 99)


def _why_no_kernels(case: Case, capability: str, variant: str) -> str:
    for row in case.table.drops():
        if capability in row.get("capabilities", ()) and variant in row["variants"]:
            left = f"{row['what']} left {variant} in {row['since']} ({row['state']})"
            return f"'no kernel image is available': {left}, see {case.table.source(row['source'])}"
    return "the first operation fails with 'no kernel image is available for execution on the device'"


def driver(case: Case, choice: Choice) -> Iterator[Finding]:
    """The driver is new enough for the CUDA of the build."""
    torch = case.machine.torch
    nvidia = case.machine.nvidia
    if not _present(case) or torch is None or not case.driver_known:
        return
    needed = numbers(torch.cuda)
    if not needed or case.driver_cuda >= needed[0]:
        return
    row = case.table.driver_for(torch.cuda, case.driver_system)
    least = f"{row['driver']} or later" if row else "a newer one"
    have = nvidia.driver or f"for CUDA {nvidia.cuda}"
    yield Finding(
        "driver-old",
        PROBLEM,
        f"torch {torch.version} needs NVIDIA's driver {least} for CUDA {torch.cuda}, and here it is {have}.",
        "a driver runs programs of its own major CUDA and of older ones, not of later ones",
        case.table.source(row["source"]) if row else "",
        reinstall=choice.build is not None,
    )


def portable_code(case: Case, choice: Choice) -> Iterator[Finding]:
    """PTX needs a driver of at least the very CUDA that it was compiled with."""
    build = case.installed
    cuda = case.machine.nvidia.cuda
    if not _present(case) or build is None or not build.ptx or not cuda:
        return
    for gpu in case.gpus:
        native = any(
            numbers(each)[0] == numbers(gpu.architecture)[:1][0]
            and numbers(each) <= numbers(gpu.architecture)
            for each in build.architectures
            if gpu.architecture
        )
        if (
            gpu.architecture
            and not native
            and runs_on(gpu.architecture, build) is None
            and not at_least(cuda, build.cuda)
        ):
            yield Finding(
                "ptx",
                PROBLEM,
                f"{gpu.name} runs torch {build.version}+{build.variant} from PTX only, and a driver for "
                f"CUDA {cuda} does not compile PTX of CUDA {build.cuda}.",
                "minor version compatibility does not extend to PTX",
                "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
                ("update NVIDIA's driver",),
            )


def none_fits(case: Case, choice: Choice) -> Iterator[Finding]:
    """No build runs on these GPUs with this driver and Python."""
    if choice.only:
        yield _mixed(case, choice)
    if case.device != "cuda" or choice.device != "cuda" or choice.build is not None or not case.platform:
        return
    if case.machine.nvidia.problem and not case.gpus:
        return
    if choice.with_driver is not None:
        nvidia = case.machine.nvidia
        if not _present(case) or case.wanted.text:
            yield Finding(
                "driver-old",
                PROBLEM,
                f"NVIDIA's driver {nvidia.driver or 'for CUDA ' + nvidia.cuda} is too old for every build "
                f"that the GPU and this Python could use; {choice.driver} or later is needed.",
                _reason(choice),
                case.table.source("nvidia-minor"),
                (f"install NVIDIA's driver {choice.driver} or later",),
            )
    elif choice.unsure is not None:
        if not _present(case):
            reason = next(refusal.reason for build, refusal in choice.refused if build == choice.unsure)
            message = f"Which build fits is unknown: {reason}."
            yield Finding("kernels-unknown", UNKNOWN, message, fix=_newer_python(case))
    elif choice.refused:
        contented = not case.wanted.text and case.installed is not None and case.installed.kind == "cpu"
        level = NOTE if contented else PROBLEM
        yield Finding(
            "gpu-unsupported",
            level,
            f"No build of {case.wanted} for this Python uses the GPU: {_reason(choice)}.",
            "",
            _nearest(choice)[0].source,
            _newer_python(case),
        )


def _newer_python(case: Case) -> tuple[str, ...]:
    build = with_other_python(case)
    return (other_python(case, [build.version]),) if build else ()


def _nearest(choice: Choice) -> tuple[Build, Refusal]:
    """The newest build which comes nearest, and what it is refused for."""
    order = ("driver", "architecture", "python", "system", "device")
    return min(choice.refused, key=lambda pair: order.index(pair[1].rule))


def _reason(choice: Choice) -> str:
    return _nearest(choice)[1].reason if choice.refused else "the table has no such build"


def _mixed(case: Case, choice: Choice) -> Finding:
    names = ", ".join(f"{gpu.name} ({gpu.architecture})" for gpu in dict.fromkeys(case.gpus))
    return Finding(
        "two-gpus",
        PROBLEM,
        f"No build of torch runs on all GPUs of this machine: {names}.",
        f"each build has code for some generations only; the one below is for {choice.only}",
        case.table.source("release.md"),
        ("make an environment for each, and choose the GPU with CUDA_VISIBLE_DEVICES",),
        reinstall=case.installed is None,
    )


def no_gpu(case: Case, choice: Choice) -> Iterator[Finding]:
    """A CUDA build without a GPU works, on the CPU."""
    torch = case.machine.torch
    if not _present(case) or torch is None or not torch.cuda or case.device == "cuda":
        return
    if case.device in ("cpu", "mps"):
        yield Finding(
            "no-gpu",
            NOTE,
            f"torch {torch.version} is built for CUDA, and no NVIDIA GPU is seen: it runs on the CPU. The "
            "CPU build is several gigabytes smaller.",
        )


def refused_wish(case: Case, choice: Choice) -> Iterator[Finding]:
    """What ``--want`` asks for does not exist or does not run, for other reasons than the GPU's."""
    if not case.wanted.text or choice.build is not None or not case.platform:
        return
    matching = [version for version in case.table.versions if version in case.wanted.tests]
    if not matching:
        yield Finding(
            "want-unknown",
            UNKNOWN,
            f"The table, made on {case.table.made}, has no {case.wanted}; it goes from "
            f"{case.table.versions[-1]} to {case.table.newest}.",
        )
    elif not choice.refused and any(case.table.builds(each, case.platform) for each in matching):
        has = sorted(
            {each.variant for version in matching for each in case.table.builds(version, case.platform)}
        )
        yield Finding(
            "want-build",
            PROBLEM,
            f"There is no {case.wanted} for {case.platform}; the builds are {', '.join(has) or 'none'}.",
            _dropped(case),
            case.table.source("release.md"),
        )
    elif choice.refused and choice.device != case.device and choice.device not in ("cpu", "mps"):
        yield Finding(
            "want-device", PROBLEM, f"{case.wanted} does not run here: {choice.refused[0][1].reason}."
        )


def _dropped(case: Case) -> str:
    for row in case.table.drops():
        if case.wanted.variant in row["variants"] and "capabilities" not in row:
            source = case.table.source(row["source"])
            return f"{row['what']} left in {row['since']}; move to {row['instead']} ({source})"
    return ""


def _first_up(text: str) -> str:
    return text[:1].upper() + text[1:]
