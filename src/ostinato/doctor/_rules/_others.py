"""Devices of AMD, Intel and Apple."""

from __future__ import annotations

from collections.abc import Iterator

from .._case import Case
from .._choose import Choice
from ._finding import NOTE, PROBLEM, UNKNOWN, WARNING, Finding

_ROCM_LINUX = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html"


def amd(case: Case, choice: Choice) -> Iterator[Finding]:
    """An AMD GPU: the ROCm build, on Linux, with the right groups."""
    if case.device != "rocm":
        return
    machine = case.machine
    names = " and ".join(dict.fromkeys(gpu.name or "an AMD GPU" for gpu in machine.amd.gpus))
    if machine.amd.problem == "no-permission":
        yield Finding(
            "amd-permission",
            PROBLEM,
            "This user may not open /dev/kfd, through which ROCm reaches the GPU.",
            "the file belongs to the group render, in some distributions video",
            _ROCM_LINUX,
            ("sudo usermod -a -G render,video $LOGNAME   # then log in again",),
        )
    elif machine.amd.problem == "no-kfd":
        yield Finding(
            "amd-driver",
            PROBLEM if machine.torch and machine.torch.hip else WARNING,
            f"The kernel shows {names}, and there is no /dev/kfd.",
            "the amdgpu driver is not loaded, or the container was started without its device files",
            _ROCM_LINUX,
            ("docker run --device /dev/kfd --device /dev/dri --group-add video IMAGE",),
        )
    torch = machine.torch
    if case.platform != "linux-x86_64":
        yield Finding(
            "amd-platform",
            NOTE,
            f"PyTorch's own wheels use {names} on Linux x86_64 only; here torch runs on the CPU.",
            "the ROCm builds in the table are for linux-x86_64; AMD has others for Windows and WSL",
            case.table.source("release.md"),
        )
    elif not case.wanted.text and torch and torch.version and not torch.broken and not torch.hip:
        usable = choice.build is not None
        yield Finding(
            "not-rocm",
            PROBLEM if usable else NOTE,
            f"torch {torch.version} is built for {_kind(torch.variant)}, and the machine has {names}.",
            "AMD's GPUs need a ROCm build; PyPI has none",
            case.table.source("release.md"),
            reinstall=usable,
        )
    yield from _gfx(case, choice)


def _kind(variant: str) -> str:
    return "the CPU only" if variant == "cpu" else f"CUDA ({variant})"


def _gfx(case: Case, choice: Choice) -> Iterator[Finding]:
    if case.platform != "linux-x86_64":
        return
    build = case.installed
    override = case.machine.environment.get("HSA_OVERRIDE_GFX_VERSION", "")
    for gpu in case.machine.amd.gpus:
        in_use = build if build is not None and build.kind == "rocm" else None
        if (
            in_use
            and gpu.architecture
            and in_use.architectures
            and gpu.architecture not in in_use.architectures
        ):
            yield Finding(
                "no-kernels",
                NOTE if override else PROBLEM,
                f"{gpu.name or 'The GPU'} is {gpu.architecture}, and torch "
                f"{in_use.version}+{in_use.variant} is built for {', '.join(in_use.architectures)}"
                + (
                    f"; HSA_OVERRIDE_GFX_VERSION={override} makes it run code of another."
                    if override
                    else "."
                ),
                "rocBLAS and the kernels of torch are compiled for each architecture",
                in_use.source,
                reinstall=choice.build is not None,
            )
        elif (in_use and not in_use.architectures) or (not gpu.architecture and not choice.build):
            yield Finding(
                "kernels-unknown",
                UNKNOWN,
                f"Whether {in_use.variant if in_use else 'a ROCm build'} has code for "
                f"{gpu.name or 'the GPU'} ({gpu.architecture or 'architecture unknown'}) is unknown.",
            )
    if choice.device == "rocm" and not choice.build and not build:
        reasons = [
            each.reason for _, each in choice.refused if each.rule == "architecture" and not each.unknown
        ]
        if reasons:
            yield Finding(
                "gpu-unsupported",
                PROBLEM,
                f"{reasons[0][:1].upper()}{reasons[0][1:]}.",
                "",
                case.table.source("uv-torch"),
            )


def intel(case: Case, choice: Choice) -> Iterator[Finding]:
    """An Intel GPU: the XPU build."""
    torch = case.machine.torch
    if case.device != "xpu" or case.wanted.text:
        return
    names = " and ".join(dict.fromkeys(gpu.name or "an Intel GPU" for gpu in case.machine.intel.gpus))
    if torch and torch.version and not torch.broken and not torch.xpu and choice.build is not None:
        yield Finding(
            "not-xpu",
            NOTE,
            f"torch {torch.version} does not use {names}; the XPU build does.",
            "Intel's GPUs need the build of the index whl/xpu and Intel's driver",
            case.table.source("xpu-2.15"),
        )


def apple(case: Case, choice: Choice) -> Iterator[Finding]:
    """MPS: in the ordinary wheel, from macOS 14 on in what is supported today."""
    torch = case.machine.torch
    if case.device == "mps" and torch and torch.version and not torch.broken:
        yield Finding(
            "mps",
            NOTE,
            "The GPU of this Mac is the device 'mps', which the ordinary wheel has; PyTorch supports it on "
            "macOS 14 and later.",
            "",
            case.table.source("release.md"),
        )
