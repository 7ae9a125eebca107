"""A plan on the Python side: runs of native steps, and the Python steps between them."""

from __future__ import annotations

import bisect
import functools
import time
from collections.abc import Callable
from typing import Any

import torch

from .._errors import fail
from .._native import plan_free, plan_replay, plan_run
from ._program import Node

Step = Callable[[], None]

_MEMORY_GONE, _BUSY, _GO_ON = -1, -3, -4  # the protocol with csrc/graph/plan.h
_ALWAYS = -1


class Plan:
    """The steps of one graph, in order."""

    def __init__(self, number: int, native: Any) -> None:
        self._number = number
        self._run = plan_run()
        self._replay = plan_replay(number)
        self._profile = native.plan_profile.default
        self._free = plan_free()
        self._jump = native.plan_jump.default
        self._aim = native.plan_aim.default
        self._refresh = native.plan_refresh.default
        self._weights: list[tuple[torch.Tensor, int]] = []  # packed weights and their versions
        # What does each native step in Python; None for a jump, which cannot fail.
        self._nodes: list[tuple[Node, Callable[[Node], Step]] | None] = []
        self._segments: list[tuple[int, int] | Step] = []
        self._starts: list[tuple[int, int]] = []  # first step and position of each native segment
        self._changes: tuple[torch.Tensor, ...] = ()

    def changes(self, tensors: list[torch.Tensor]) -> None:
        """The tensors from before the capture that every run writes: it moves their version counters."""
        self._changes = tuple(t for t in tensors if not t.is_inference())

    def append_native(self, node: Node, again: Callable[[Node], Step]) -> None:
        """The next native step does ``node``; ``again(node)`` makes a Python step that does the same."""
        self._append((node, again))

    def jump_unless(self, slot: int) -> int:
        """Appends a jump that is made where the bool value ``slot`` is false; its number, for ``aim``."""
        self._append(None)
        return int(self._jump(self._number, slot))

    def landing(self) -> int:
        """Appends a place for jumps to lead to; as a jump of its own it goes wherever it is aimed."""
        return self.jump_unless(_ALWAYS)

    def aim(self, jump: int, landing: int) -> None:
        """Lets a jump lead to a landing. Steps of Python's between two landings are left out or run alike."""
        self._aim(self._number, jump, landing)

    def _append(self, native: tuple[Node, Callable[[Node], Step]] | None) -> None:
        index = len(self._nodes)
        self._nodes.append(native)
        last = self._segments[-1] if self._segments else None
        if isinstance(last, tuple):
            self._segments[-1] = (last[0], index + 1)
        else:
            self._segments.append((index, index + 1))

    def append_python(self, step: Step) -> None:
        self._segments.append(step)

    def look_first(self) -> None:
        """Lets the engine look for memory that is gone before a first step of Python's touches it."""
        if self._segments and not isinstance(self._segments[0], tuple):
            self._segments.insert(0, (0, 0))

    def watch_weights(self, weights: list[torch.Tensor | None]) -> None:
        """Packs these anew when their version counter has moved. Inference tensors have none."""
        for weight in weights:
            if weight is not None and not weight.is_inference():
                self._weights.append((weight, weight._version))

    def freeze(self) -> None:
        """No weight changes any more: replays stop looking."""
        self._weights = []

    def refresh(self) -> None:
        """Packs all weights anew."""
        self._refresh(self._number)
        self._weights = [(weight, weight._version) for weight, _ in self._weights]

    @property
    def all_native(self) -> bool:
        """Whether no step is Python's: the engine then sees to it that one thread runs the plan at a time."""
        return self._segments == [(0, len(self._nodes))]

    def run_native(self) -> None:
        """One replay of a plan that is all native."""
        for weight, version in self._weights:
            if weight._version != version:
                self.refresh()
                break
        last = len(self._nodes)
        if (stopped := self._replay()) != last:
            self._continue(stopped, 0, last)
        if self._changes:
            torch.autograd.graph.increment_version(self._changes)

    def run(self) -> None:
        """One replay. ReplayError names the node that failed."""
        for weight, version in self._weights:
            if weight._version != version:
                self.refresh()
                break
        position, at = 0, 0
        while position < len(self._segments):
            segment = self._segments[position]
            position += 1
            if isinstance(segment, tuple):
                first, last = segment
                stopped = self._run(self._number, first, last, max(first, at))
                if stopped != last and (landing := self._continue(stopped, first, last)) is not None:
                    position, at = self._holding(landing), landing
            else:
                segment()
        if self._changes:
            torch.autograd.graph.increment_version(self._changes)

    def profile(self, rounds: int) -> list[float]:
        """Seconds that each step takes, the least of ``rounds`` replays.

        Where some are Python's, every step is timed from Python, and has half a microsecond of it.
        """
        if self.all_native:
            return list(self._profile(self._number, rounds))
        runs = [each for segment in self._segments for each in self._single(segment)]
        least = [float("inf")] * len(runs)
        for _ in range(rounds):
            for i, run in enumerate(runs):
                began = time.perf_counter()
                run()
                least[i] = min(least[i], time.perf_counter() - began)
        return least

    def _single(self, segment: tuple[int, int] | Step) -> list[Callable[[], object]]:
        """A call for each step of a segment."""
        if not isinstance(segment, tuple):
            return [segment]
        return [functools.partial(self._run, self._number, i, i + 1, i) for i in range(*segment)]

    def _holding(self, landing: int) -> int:
        """The position among the segments of the one that holds a native step."""
        if not self._starts:
            self._starts = [(s[0], i) for i, s in enumerate(self._segments) if isinstance(s, tuple)]
        return self._starts[bisect.bisect_right(self._starts, (landing, len(self._segments))) - 1][1]

    def _continue(self, stopped: int, first: int, last: int) -> int | None:
        """Goes on from where the engine stopped, until the end of the range or a jump out of it.

        Returns where the jump leads. A failed step is done in Python, for torch's message, which the
        C interface keeps to itself; where it goes well there, the steps after it follow.
        """
        while stopped != last:
            if stopped == _MEMORY_GONE:
                raise fail("accelerator.memory_gone")
            if stopped == _BUSY:
                raise fail("accelerator.replayed_elsewhere")
            if stopped <= _GO_ON:
                at = _GO_ON - stopped
                if not first <= at < last:
                    return at
            else:
                failed = self._nodes[stopped] if stopped >= 0 else None
                if failed is None:
                    raise AssertionError(f"the native plan {self._number} has no such steps")
                node, again = failed
                again(node)()
                at = stopped + 1
            stopped = self._run(self._number, first, last, at)
        return None

    def __del__(self) -> None:
        if hasattr(self, "_free"):  # else its making has failed
            self._free(self._number)
