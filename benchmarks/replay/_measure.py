"""Times a row: all sides in turn, new inputs before each round, outputs compared after it."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Sequence

import torch

from ostinato.deployment._timing import timing_of

from ._peers import MAKERS
from ._rows import OURS, Row, Tensors
from ._runner import NotInstalled, PeerFailed, Runner

RTOL, ATOL = 1e-4, 1e-5
_ROUND_SECONDS = 0.02  # what a round takes the runtime in the middle
_CHECKS, _WARM = 3, 2


@dataclasses.dataclass(frozen=True)
class Timing:
    """Microseconds a call over all rounds, and the milliseconds from the model to the first result."""

    median_us: float
    p10_us: float
    p90_us: float
    ready_ms: float


@dataclasses.dataclass(frozen=True)
class Timed:
    """One row on so many threads."""

    row: Row
    threads: int
    calls: int  # in a round
    timings: dict[str, Timing]
    missing: tuple[str, ...]  # peers that are not installed

    @property
    def best_peer(self) -> str:
        """The fastest that is not Ostinato."""
        return min((n for n in self.timings if n not in OURS), key=lambda n: self.timings[n].median_us)

    @property
    def ratio(self) -> float:
        """How many times as fast as the best peer `numerics="fast"` is."""
        return self.timings[self.best_peer].median_us / self.timings["fast"].median_us


def measure(row: Row, threads: int, peers: Sequence[str], rounds: int, tell: Callable[[str], None]) -> Timed:
    """Makes all sides ready and times them. PeerFailed where one does not run or does not agree."""
    runners, missing = {}, []
    with torch.no_grad():
        for name in (n for n in (*row.peers, *OURS) if n in peers or n in OURS or n == row.peers[0]):
            tell(f"{row.name}, {threads} threads: making {name} ready")
            try:
                runners[name] = MAKERS[name](row, threads, row.inputs()())
            except NotInstalled:
                missing.append(name)
            except Exception as error:  # whatever a runtime says of what it does not take
                raise PeerFailed(f"{name} cannot run {row.title}: {type(error).__name__}: {error}") from error
        tell(f"{row.name}, {threads} threads: timing")
        taken, calls = _rounds(row, runners, rounds)
    spreads = {name: timing_of(values) for name, values in taken.items()}
    timings = {
        name: Timing(each.median, each.p10, each.p90, ready_ms=runners[name].ready * 1e3)
        for name, each in spreads.items()
    }
    return Timed(row, threads, calls, timings, tuple(missing))


def _rounds(row: Row, runners: dict[str, Runner], rounds: int) -> tuple[dict[str, list[float]], int]:
    """Microseconds a call by runtime and round. All make the same calls: a state stays in step."""
    following = row.inputs()
    for runner in runners.values():
        runner.reset()
    for _ in range(_CHECKS):
        _write(runners, following())
        for runner in runners.values():
            runner.step()
        _agree(row, runners)
    calls = _calls([_once(runner) for runner in runners.values()])
    taken: dict[str, list[float]] = {name: [] for name in runners}
    names = list(runners)
    for i in range(rounds):
        _write(runners, following())
        for name in names[i % len(names) :] + names[: i % len(names)]:
            step = runners[name].step
            for _ in range(_WARM):  # the last one's data is in the caches, its threads may still spin
                step()
            began = time.perf_counter()
            for _ in range(calls):
                step()
            taken[name].append((time.perf_counter() - began) / calls * 1e6)
        _agree(row, runners)
    return taken, calls


def _once(runner: Runner) -> float:
    """Seconds of a call, the least of a few."""
    tries = []
    for _ in range(5):
        began = time.perf_counter()
        runner.step()
        tries.append(time.perf_counter() - began)
    return min(tries)


def _calls(seconds: list[float]) -> int:
    return max(3, min(2000, int(_ROUND_SECONDS / statistics.median(seconds))))


def _write(runners: dict[str, Runner], inputs: Tensors) -> None:
    for runner in runners.values():
        runner.write(inputs)


def _agree(row: Row, runners: dict[str, Runner]) -> None:
    """PeerFailed where a result is not that of the first, to the tolerance of float32."""
    (_, first), *others = runners.items()
    for name, runner in others:
        for expected, actual in zip(first.results(), runner.results(), strict=True):
            if not torch.allclose(actual.reshape(expected.shape), expected, RTOL, ATOL):
                apart = float((actual.reshape(expected.shape) - expected).abs().max())
                raise PeerFailed(f"{name} does not agree on {row.title}: it is {apart:.1e} off")
