"""torchvision, torchaudio, triton and NVIDIA's packages beside the installed torch."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .._case import Case
from .._choose import Choice
from .._versions import Range, local, numbers, release
from ._finding import PROBLEM, WARNING, Finding

_NVIDIA = re.compile(r"^nvidia-(?:cublas|cudnn|cuda-runtime|nccl)-cu(\d\d)$")


def versions(case: Case, choice: Choice) -> Iterator[Finding]:
    """Each torchvision and torchaudio is compiled against one torch."""
    torch = case.machine.torch
    if case.wanted.text or torch is None or not torch.version or torch.broken:
        return
    for package in ("torchvision", "torchaudio"):
        version = case.machine.packages.get(package, "")
        row = (
            case.table.companion_problem(package, release(version), release(torch.version))
            if version
            else None
        )
        if row:
            fitting = case.table.companion_for(package, release(torch.version))
            yield Finding(
                "companion-version",
                PROBLEM,
                f"{package} {version} needs torch{row['torch']}, and torch {torch.version} is installed.",
                "it is compiled against one torch; beside another it gives 'operator torchvision::nms does "
                "not exist' or an undefined symbol",
                case.table.source(row["source"]),
                (_companion(case, package, fitting),) if fitting else (),
            )
        elif version and _other_build(version, torch.version):
            yield Finding(
                "companion-build",
                PROBLEM,
                f"{package} {version} and torch {torch.version} are of different builds.",
                "a companion loads the CUDA libraries that it was compiled for",
                "https://github.com/deforum/deforum-stable-diffusion/issues/348",
                (_companion(case, package, release(version)),),
            )


def _other_build(one: str, two: str) -> bool:
    return bool(local(one) and local(two) and local(one) != local(two))


def _companion(case: Case, package: str, version: str) -> str:
    torch = case.machine.torch
    assert torch is not None
    variant = local(torch.version) or torch.variant
    index = f" --index-url https://download.pytorch.org/whl/{variant}"
    return f"pip install --no-deps --force-reinstall {package}=={version}{index}"


def triton(case: Case, choice: Choice) -> Iterator[Finding]:
    """torch pins the triton that it was tested with."""
    torch = case.machine.torch
    have = case.machine.packages.get("triton", "")
    if case.wanted.text or torch is None or not have or case.installed is None:
        return
    row = case.table.release(release(torch.version)) or {}
    needed = row.get("triton", "")
    if needed and case.installed.kind == "cuda" and release(have) not in Range(needed):
        yield Finding(
            "triton",
            WARNING,
            f"triton {have} is installed, and torch {torch.version} asks for triton{needed}.",
            "torch.compile calls functions of triton that change between versions",
            case.table.source("pypi"),
            (f"pip install 'triton{needed}'",),
        )


def numpy(case: Case, choice: Choice) -> Iterator[Finding]:
    """torch before 2.3 was compiled against NumPy 1; on Windows some later ones too."""
    torch = case.machine.torch
    have = case.machine.packages.get("numpy", "")
    if case.wanted.text or torch is None or not torch.version or numbers(have)[:1] < (2,):
        return
    windows = case.machine.system.name == "windows"
    if numbers(torch.version) < ((2, 5) if windows else (2, 3)):
        yield Finding(
            "numpy",
            WARNING,
            f"NumPy {have} is installed, and torch {torch.version} was built for NumPy 1.",
            "what exchanges arrays fails with '_ARRAY_API not found' or 'Numpy is not available'",
            "https://github.com/pytorch/pytorch/issues/135013",
            ("pip install 'numpy<2'",),
        )


def nvidia_packages(case: Case, choice: Choice) -> Iterator[Finding]:
    """The CUDA libraries in site-packages are of the CUDA that torch was built for."""
    torch = case.machine.torch
    if case.wanted.text or torch is None or not torch.cuda or torch.broken:
        return
    major = torch.cuda.split(".")[0]
    found = {match.group(1) for name in case.machine.packages if (match := _NVIDIA.match(name))}
    if found and major not in found:
        yield Finding(
            "nvidia-packages",
            PROBLEM,
            f"torch {torch.version} was built for CUDA {torch.cuda}, and only libraries of CUDA "
            f"{', '.join(sorted(found))} are installed beside it.",
            "torch finds libcudart and cuDNN in the nvidia-* packages",
            case.table.source("pypi"),
            reinstall=True,
        )
    yield from _cudnn(case)


def _cudnn(case: Case) -> Iterator[Finding]:
    torch = case.machine.torch
    row = case.table.release(release(torch.version)) if torch else None
    build = case.installed
    if not row or not build or build.variant != row["default"].get(case.platform):
        return
    for package, needed in row.get("needs", {}).items():
        have = case.machine.packages.get(package, "")
        if have and needed.startswith("==") and release(have) != needed[2:]:
            yield Finding(
                "nvidia-version",
                WARNING,
                f"{package} {have} is installed, and torch {build.version} was built with {needed[2:]}.",
                "another package has replaced a library that torch loads",
                case.table.source("pypi"),
                (f"pip install {package}{needed}",),
            )
