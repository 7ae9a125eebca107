"""What an optimizer remembers of a group between two steps."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from typing import Any

import torch

from ._batch import PLAIN, Batch
from ._table import Table


class Cache:
    """How the parameters of a group were sorted, and what must still be so for it to hold."""

    def __init__(self, group: dict[str, Any], names: tuple[str, ...]) -> None:
        self.batches: list[Batch] = []
        self.left: list[torch.Tensor] = []  # for torch's own step
        self.states: list[dict[str, Any]] = []
        self.once = False  # whether it holds for this step alone
        self.table: Table | None = None
        self._names = names
        self._params = list(group["params"])
        self._seen: list[Any] = []
        self._with_grad: list[bool] = []

    def seal(self, batches: Iterable[Batch]) -> None:
        self.batches = list(batches)
        self.once = self.once or bool(self.left) or any(b.first for b in self.batches)
        self._seen = self._tensors()
        self._with_grad = [p.grad is not None for p in self._params]

    def _tensors(self) -> list[Any]:
        return list(itertools.chain.from_iterable(map(dict.values, self.states)))

    def renew(self, group: dict[str, Any], names: tuple[str, ...], states_may_differ: bool) -> bool:
        """Takes the gradients of now, where parameters and states are the objects that they were.

        Whether it could; how the gradients lie is for the native call to check.
        """
        params = group["params"]
        if self.once or torch.compiler.is_compiling() or group["differentiable"]:
            return False
        if names != self._names or not same(params, self._params):
            return False
        if states_may_differ and not same(self._tensors(), self._seen):
            return False
        return self._take([p.grad for p in params])

    def _take(self, grads: list[Any]) -> bool:
        kept = self.table.kept if self.table is not None else []
        if not same(grads, kept):  # else there is no None among them, nor a tensor of another kind
            given = [g for g in grads if g is not None]
            if [g is not None for g in grads] != self._with_grad or not set(map(type, given)) <= PLAIN:
                return False
            kept = kept if same(given, kept) else given
        for batch in self.batches:  # one, or none
            batch.grads = kept
        return True

    def lies(self) -> bool:
        """Whether each gradient has the strides of its parameter."""
        pairs = ((g, p) for batch in self.batches for g, p in zip(batch.grads, batch.reals, strict=True))
        return all(g.stride() == p.stride() for g, p in pairs)

    def release(self) -> None:
        """Forgets the gradients, so that their memory is free once the caller drops them."""
        for batch in self.batches:
            batch.grads = []

    def forget(self) -> None:
        """The same for those that the native library keeps."""
        if self.table is not None and self.table.kept:
            self.table = None


def same(now: list[Any], before: list[Any]) -> bool:
    return len(now) == len(before) and all(map(operator.is_, now, before))
