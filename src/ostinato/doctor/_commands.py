"""The commands that install a build: pip, uv, and conda-forge where it has a like build."""

from __future__ import annotations

from typing import Optional

from ._case import Case
from ._table import Build
from ._versions import numbers, release

INDEX = "https://download.pytorch.org/whl"
_COMPANIONS = ("torchvision", "torchaudio")


def commands(case: Case, build: Build) -> dict[str, str]:
    """The command of each tool, its name as the key; pip first."""
    found = {"pip": _pip(case, build), "uv": _uv(case, build)}
    conda = _conda(case, build)
    if conda:
        found["conda"] = conda
    return found


def _packages(case: Case, build: Build) -> str:
    """torch, and its companions where they are installed and a fitting version is known."""
    named = [f"torch=={build.version}"]
    for package in _COMPANIONS:
        version = case.table.companion_for(package, build.version)
        if package in case.machine.packages and version:
            named.append(f"{package}=={version}")
    return " ".join(named + _numpy(build))


def _numpy(build: Build) -> list[str]:
    # Before 2.3 torch was compiled against NumPy 1, and warns or fails beside NumPy 2.
    return ["'numpy<2'"] if numbers(build.version) < (2, 3) else []


def _is_default(case: Case, build: Build) -> bool:
    return case.table.default_variant(build.version, case.platform) == build.variant


def _again(case: Case, build: Build) -> bool:
    """The same version is installed as another build, which pip takes for satisfied."""
    torch = case.machine.torch
    return torch is not None and (bool(torch.broken) or release(torch.version) == build.version)


def _pip(case: Case, build: Build) -> str:
    again = " --force-reinstall" if _again(case, build) else ""
    index = "" if _is_default(case, build) else f" --index-url {INDEX}/{build.variant}"
    if index and _numpy(build):
        index = index.replace("--index-url", "--extra-index-url")
        packages = _packages(case, build).replace("==" + build.version, _exact(build), 1)
        return f"pip install{again} {packages}{index}"
    return f"pip install{again} {_packages(case, build)}{index}"


def _exact(build: Build) -> str:
    """With a second index, only the local version names the build."""
    return f"=={build.version}+{build.variant}"


def _uv(case: Case, build: Build) -> str:
    again = " --reinstall-package torch" if _again(case, build) else ""
    if build.variant in case.table.document["uv_backends"]:
        return f"uv pip install{again} {_packages(case, build)} --torch-backend={build.variant}"
    return f"uv pip install{again} {_packages(case, build)} --index-url {INDEX}/{build.variant}"


def _conda(case: Case, build: Build) -> Optional[str]:
    if build.kind == "cpu":
        return "conda install -c conda-forge " + ("pytorch" if "macos" in case.platform else "pytorch-cpu")
    old = [gpu for gpu in case.gpus if not gpu.architecture or numbers(gpu.architecture) < (7, 5)]
    if build.kind != "cuda" or old or numbers(build.cuda) < (12, 6):
        # Which older devices and drivers conda-forge's builds serve is not in the table.
        return None
    return "conda install -c conda-forge pytorch-gpu"
