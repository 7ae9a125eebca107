"""Timing that is fair to all: everybody in turns, and how far the rounds lie apart."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Call = Callable[[], Any]
_ROUND_SECONDS = 0.05


@dataclass(frozen=True)
class Timing:
    """Microseconds a call over the rounds: a tenth of them is below ``p10``, a tenth above ``p90``."""

    median: float
    least: float
    p10: float
    p90: float


def alternating(runtimes: dict[str, Call], rounds: int) -> dict[str, Timing]:
    """Time all runtimes in turns, so that what else the machine does hits all of them."""
    counts = {}
    for name, call in runtimes.items():
        call()
        began = time.perf_counter()
        call()
        counts[name] = max(1, int(_ROUND_SECONDS / max(time.perf_counter() - began, 1e-7)))
    seen: dict[str, list[float]] = {name: [] for name in runtimes}
    for _ in range(rounds):
        for name, call in runtimes.items():
            call()  # the last one's data is in the caches
            count = counts[name]
            began = time.perf_counter()
            for _ in range(count):
                call()
            seen[name].append((time.perf_counter() - began) / count * 1e6)
    return {name: timing_of(each) for name, each in seen.items()}


def timing_of(times: list[float]) -> Timing:
    """Of microseconds a call, one number a round."""
    tenths = statistics.quantiles(times, n=10, method="inclusive") if len(times) > 1 else times
    return Timing(statistics.median(times), min(times), tenths[0], tenths[-1])
