"""What the machine can do: the rates that no program beats. The benchmarks measure by them too."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import torch

_SQUARES = (512, 1536)  # a large one, and one so short that other work on the machine seldom hits all tries
_LARGE = 256 << 20  # bytes that no cache holds
_LEAST = 1 << 20  # below this the call itself is what one would measure


@dataclasses.dataclass(eq=False)
class Machine:
    """The rates of ``threads`` threads, each the best of several tries."""

    threads: int
    gflops: float  # a float32 matrix product, the better of two sizes
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
    """Measures the machine on as many threads, which takes a few seconds; torch keeps that number."""
    torch.set_num_threads(threads)
    x, y = torch.ones(2, _LARGE // 8)
    copy = _best(lambda: y.copy_(x))
    return Machine(threads, max(map(_product_gflops, _SQUARES)), _LARGE / copy / 1e9)


def _product_gflops(size: int) -> float:
    a, b = torch.ones(2, size, size)
    out = torch.empty(size, size)
    return 2 * size**3 / _best(lambda: torch.mm(a, b, out=out)) / 1e9


def _best(run: Callable[[], object]) -> float:
    """Seconds a call, the least of 25 tries of at least 2 ms each."""
    run()
    began = time.perf_counter()
    run()
    count = max(1, int(2e-3 / max(time.perf_counter() - began, 1e-7)))
    tries = []
    for _ in range(25):
        began = time.perf_counter()
        for _ in range(count):
            run()
        tries.append((time.perf_counter() - began) / count)
    return min(tries)
