"""A plan on the Python side: runs of native steps, and the Python steps between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .._errors import fail
from .._native import plan_replay, plan_run
from ._program import Node

Step = Callable[[], None]

_MEMORY_GONE, _BUSY = -1, -3  # the protocol with csrc/graph/plan.h


class Plan:
    """The steps of one graph, in order."""

    def __init__(self, number: int, native: Any) -> None:
        self._number = number
        self._run = plan_run()
        self._replay = plan_replay(number)
        self._profile = native.plan_profile.default
        self._free = native.plan_free.default
        self._refresh = native.plan_refresh.default
        self._weights: list[tuple[torch.Tensor, int]] = []  # packed weights and their versions
        self._nodes: list[tuple[Node, Callable[[Node], Step]]] = []
        self._segments: list[tuple[int, int] | Step] = []
        self._changes: tuple[torch.Tensor, ...] = ()

    def changes(self, tensors: list[torch.Tensor]) -> None:
        """The tensors from before the capture that every run writes: it moves their version counters."""
        self._changes = tuple(t for t in tensors if not t.is_inference())

    def append_native(self, node: Node, again: Callable[[Node], Step]) -> None:
        """The next native step does ``node``; ``again(node)`` makes a Python step that does the same."""
        index = len(self._nodes)
        self._nodes.append((node, again))
        last = self._segments[-1] if self._segments else None
        if isinstance(last, tuple):
            self._segments[-1] = (last[0], index + 1)
        else:
            self._segments.append((index, index + 1))

    def append_python(self, step: Step) -> None:
        self._segments.append(step)

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
        if (stopped := self._replay()) != len(self._nodes):
            self._continue(stopped, len(self._nodes))
        if self._changes:
            torch.autograd.graph.increment_version(self._changes)

    def run(self) -> None:
        """One replay. ReplayError names the node that failed."""
        for weight, version in self._weights:
            if weight._version != version:
                self.refresh()
                break
        for segment in self._segments:
            if isinstance(segment, tuple):
                first, last = segment
                if (stopped := self._run(self._number, first, last)) != last:
                    self._continue(stopped, last)
            else:
                segment()
        if self._changes:
            torch.autograd.graph.increment_version(self._changes)

    def profile(self, rounds: int) -> list[float]:
        """Seconds that each native step takes, the least of ``rounds`` replays."""
        return list(self._profile(self._number, rounds))

    def _continue(self, stopped: int, last: int) -> None:
        """Does a failed step in Python, for torch's message, which the C interface keeps to itself.

        Where it goes well there, the steps up to ``last`` follow.
        """
        while stopped != last:
            if stopped == _MEMORY_GONE:
                raise fail("accelerator.memory_gone")
            if stopped == _BUSY:
                raise fail("accelerator.replayed_elsewhere")
            if stopped < 0:
                raise AssertionError(f"the native plan {self._number} has no such steps")
            node, again = self._nodes[stopped]
            again(node)()
            stopped = self._run(self._number, stopped + 1, last)

    def __del__(self) -> None:
        self._free(self._number)
