"""What the machine is, for the document that is kept. What it can do, ``ostinato bench`` measures too."""

from __future__ import annotations

import importlib.metadata
import os
import pathlib
import platform
import subprocess
from typing import Any

import ostinato as ost
from ostinato import _native

_PACKAGES = ("torch", "numpy", "onnx", "onnxscript", "onnxruntime", "openvino")


def described() -> dict[str, Any]:
    """The processor as the system names it, and the instruction set that Ostinato's kernels use."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "isa": _native.info()["isa"],
        "system": platform.platform(),
    }


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "ostinato": f"{ost.__version__}+{_commit()}"}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def _cpu() -> str:
    """For example "AMD EPYC (family 26 model 2)": clouds hide names, seldom families."""
    fields: dict[str, str] = {}
    path = pathlib.Path("/proc/cpuinfo")
    if path.is_file():
        for line in path.read_text().split("\n\n")[0].splitlines():
            key, _, value = line.partition(":")
            fields[key.strip()] = value.strip()
    name = fields.get("model name") or platform.processor() or platform.machine()
    family, model = fields.get("cpu family"), fields.get("model")
    return f"{name} (family {family} model {model})" if family and model else name


def _commit() -> str:
    """The commit of this tree, with a mark where files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--exclude=*"]
    done = subprocess.run(command, cwd=pathlib.Path(__file__).parent, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"
