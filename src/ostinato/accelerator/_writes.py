"""Arguments that a graphed callable writes to: found at its capture, handed back after each replay."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .._errors import fail


class Writes:
    """Which of ``static``, the tensors that stand for the arguments in a graph, the captured code writes."""

    def __init__(self, static: Sequence[torch.Tensor]) -> None:
        self._static = static
        self._before = [_version(t) for t in static]
        self._written: list[int] = []

    def note(self) -> None:
        """Called at the end of the captured code, inside the capture, which sets version counters back."""
        now = [_version(t) for t in self._static]
        self._written = [i for i, before in enumerate(self._before) if now[i] != before]
        if not all(self._static[i].is_leaf for i in self._written):
            raise fail("accelerator.argument_grad")

    def hand_back(self, given: Sequence[torch.Tensor]) -> None:
        """Writes to the caller's tensors what the graph wrote to those that stand for them."""
        if not self._written:
            return
        for i in self._written:
            if any(_overlap(given[i], other) for j, other in enumerate(given) if j != i):
                raise fail("accelerator.argument_shared")
        with torch.no_grad():
            for i in self._written:
                if given[i].data_ptr() != self._static[i].data_ptr():
                    given[i].copy_(self._static[i])


def _version(tensor: torch.Tensor) -> int:
    return 0 if tensor.is_inference() else tensor._version


def _overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.numel() > 0 < b.numel() and a.data_ptr() < _end(b) and b.data_ptr() < _end(a)


def _end(tensor: torch.Tensor) -> int:
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.data_ptr() + (last + 1) * tensor.itemsize
