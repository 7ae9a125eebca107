"""What the machine is, and what it can do: the rates that a row cannot beat."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
import pathlib
import platform
import subprocess
import time
from collections.abc import Callable
from typing import Any

import torch

import ostinato as ost
from ostinato import _native

_SQUARE = 1536
_LARGE = 256 << 20  # bytes that no cache holds
_LEAST = 1 << 20  # below this the call itself is what one would measure
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


@dataclasses.dataclass(eq=False)
class Machine:
    """The rates of ``threads`` threads, each the best of several tries."""

    threads: int
    gflops: float  # a large float32 matrix product
    copy_gbs: float  # a copy of more than the caches hold, bytes read and bytes written

    def __post_init__(self) -> None:
        self._near: dict[int, float] = {}

    def memory_gbs(self, nbytes: int) -> float:
        """How fast data of that size, read again and again, comes: from a cache, where one holds it."""
        size = 1 << max(nbytes, _LEAST).bit_length() - 1
        if size not in self._near:
            half = size // 8
            x, y = torch.ones(half), torch.ones(half)
            best = min(_best(lambda: torch.dot(x, y)), _best(lambda: y.copy_(x)))
            self._near[size] = size / best / 1e9
        return self._near[size]

    def least_seconds(self, flops: int, nbytes: int) -> float:
        """No less than this does work of that size take here."""
        return max(flops / self.gflops, nbytes / self.memory_gbs(nbytes)) / 1e9


def measured(threads: int) -> Machine:
    """Measures the machine on as many threads; torch keeps that number."""
    torch.set_num_threads(threads)
    a, b = torch.randn(2, _SQUARE, _SQUARE)
    out = torch.empty(_SQUARE, _SQUARE)
    product = _best(lambda: torch.mm(a, b, out=out))
    x, y = torch.ones(2, _LARGE // 8)
    return Machine(threads, 2 * _SQUARE**3 / product / 1e9, _LARGE / _best(lambda: y.copy_(x)) / 1e9)


def _best(run: Callable[[], object]) -> float:
    """Seconds a call, the least of 9 tries of at least 2 ms each."""
    run()
    began = time.perf_counter()
    run()
    count = max(1, int(2e-3 / max(time.perf_counter() - began, 1e-7)))
    tries = []
    for _ in range(9):
        began = time.perf_counter()
        for _ in range(count):
            run()
        tries.append((time.perf_counter() - began) / count)
    return min(tries)
