"""Whether a build of torch runs on a machine: each answer is yes, no with a reason, or unknown."""

from __future__ import annotations

import dataclasses
from typing import Optional

from ._case import Case
from ._table import Build
from ._versions import numbers


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Why a build does not run, or is not known to run, on a machine."""

    rule: str  # python, system, architecture, driver, device
    reason: str
    unknown: bool = False


def runs_on(capability: str, build: Build) -> Optional[bool]:
    """The build has code for a compute capability; None where that is unknown.

    Machine code runs on the same major generation with an equal or higher
    minor number.  The driver compiles PTX for later generations too, but CUDA's
    own libraries bring none of it, and torch warns that such a GPU is not
    compatible: what then works is unknown.
    """
    device = numbers(capability)
    if build.at_most and device > numbers(build.at_most):
        return False
    if len(device) < 2 or not (build.architectures or build.ptx):
        return None
    for each in build.architectures:
        code = numbers(each)
        if code[0] == device[0] and code[1] <= device[1]:
            return True
    return None if any(numbers(each) <= device for each in build.ptx) else False


def refusals(case: Case, build: Build) -> list[Refusal]:
    """All that speaks against a build; empty where it runs."""
    found = [_python(case, build), _system(case, build)]
    if build.kind == "cuda":
        found += [_device(case, "cuda"), *_architectures(case, build), _driver(case, build)]
    elif build.kind == "rocm":
        found += [_device(case, "rocm"), *_gfx(case, build)]
    elif build.kind == "xpu":
        found += [_device(case, "xpu")]
    return [each for each in found if each is not None]


def _python(case: Case, build: Build) -> Optional[Refusal]:
    tag = case.python_tag
    tags = case.table.python_tags(build.version, case.platform)
    if tag is None or tag in tags:
        return None
    name = case.machine.python.version
    return Refusal(
        "python", f"torch {build.version} has no wheel for Python {name} ({tag}) on {case.platform}"
    )


def _system(case: Case, build: Build) -> Optional[Refusal]:
    tag = build.system or case.table.wheel_tag(build.version, case.platform)
    runs = case.system_runs(tag)
    if runs is False:
        have = case.machine.system.libc or case.machine.system.version
        return Refusal(
            "system", f"the wheel of torch {build.version} is tagged {tag}, and the system has {have}"
        )
    return None


def _device(case: Case, kind: str) -> Optional[Refusal]:
    return None if case.device == kind else Refusal("device", f"the machine has no device for a {kind} build")


def _architectures(case: Case, build: Build) -> list[Refusal]:
    found = []
    for gpu in case.gpus:
        runs = runs_on(gpu.architecture, build)
        if runs is None:
            found.append(Refusal("architecture", no_answer(gpu.architecture, build)[0], True))
        elif not runs:
            found.append(Refusal("architecture", no_kernels(gpu.name, gpu.architecture, build)))
    return found


def no_answer(capability: str, build: Build) -> tuple[str, str]:
    """Why it is unknown whether a build has code for a device, and where that is written."""
    if not capability:
        return "the compute capability of the GPU is unknown", build.source
    if not build.architectures:
        return f"the table does not say what torch {build.version}+{build.variant} has code for", build.source
    return (
        f"for a GPU of compute capability {capability}, torch {build.version}+{build.variant} has portable "
        "code (PTX) of an older generation only, and warns that the GPU is not compatible",
        _PORTABLE,
    )


_PORTABLE = "https://github.com/coendevente/SlicerNNInteractive/issues/58"


def no_kernels(name: str, capability: str, build: Build) -> str:
    """The sentence for a build without code for a device."""
    has = ", ".join(build.architectures) or f"{build.at_most} at most"
    return (
        f"{name or 'the GPU'} has compute capability {capability}, "
        f"and torch {build.version}+{build.variant} has code for {has} only"
    )


def _driver(case: Case, build: Build) -> Optional[Refusal]:
    needed = numbers(build.cuda)[0]
    nvidia = case.machine.nvidia
    if not case.driver_known or case.driver_cuda >= needed:
        return None
    row = case.table.driver_for(build.cuda, case.driver_system)
    least = row["driver"] if row else "unknown"
    have = nvidia.driver or f"for CUDA {nvidia.cuda}"
    return Refusal(
        "driver", f"CUDA {build.cuda} needs NVIDIA's driver {least} or later, and here it is {have}"
    )


def _gfx(case: Case, build: Build) -> list[Refusal]:
    found = []
    for gpu in case.machine.amd.gpus:
        if not gpu.architecture or not build.architectures:
            what = f"{gpu.name or 'the GPU'} ({gpu.architecture or 'architecture unknown'})"
            found.append(Refusal("architecture", f"{what} beside {build.variant}: unknown", True))
        elif gpu.architecture not in build.architectures:
            has = ", ".join(build.architectures)
            found.append(
                Refusal(
                    "architecture",
                    f"{gpu.name or 'the GPU'} is {gpu.architecture}, and {build.variant} is built for {has}",
                )
            )
    return found
