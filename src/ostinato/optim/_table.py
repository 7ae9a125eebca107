"""The tensors of a batch as the native library keeps them between two steps."""

from __future__ import annotations

import weakref
from typing import Any

import torch

from .. import _native
from ._batch import Batch


class Table:
    """Parameters, states and step counts, handed over once; gradients where they stay the same tensors.

    ``kept`` are gradients that two steps had in common; they live until the next step at
    most. A loop that makes new ones for every step has none.
    """

    def __init__(self, name: str, batch: Batch) -> None:
        native = _native.ops()
        tensors = [*batch.reals, *(t for state in batch.states for t in state), *batch.steps]
        number = native.optimizer_new("ostinato::" + name, tensors, len(batch.reals))
        self.kept: list[torch.Tensor] = []
        self._run = native.optimizer_run.default
        self._number = number
        self._ends: tuple[Any, ...] = ()  # the first and the last gradient of the last step
        weakref.finalize(self, _native.optimizer_free(), number).atexit = False

    def run(
        self,
        grads: list[torch.Tensor],
        scaling: tuple[torch.Tensor | None, ...],
        numbers: list[float],
        flags: list[bool],
        states: bool,
    ) -> str:
        """One step. Empty, or why nothing was done: a tensor does not lie in memory as it did.

        ``states`` says that states may have other memory than at the last step.
        """
        if grads is self.kept:
            problem: str = self._run(self._number, None, *scaling, numbers, flags, True, states)
        else:
            ends = grads[0], grads[-1]
            keep = bool(self._ends) and all(e() is g for e, g in zip(self._ends, ends, strict=True))
            problem = self._run(self._number, grads, *scaling, numbers, flags, keep, states)
            self.kept = grads if keep else []
            self._ends = tuple(map(weakref.ref, ends))
        if problem:
            self.kept = []
        return problem
