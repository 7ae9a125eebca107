"""The parameters of a group that one native call updates."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable
from typing import Any

import torch

_REAL = {torch.float32, torch.float64, torch.bfloat16, torch.float16}
_COMPLEX = {torch.complex64, torch.complex128}
_PLAIN = {torch.Tensor, torch.nn.Parameter}


def takes(param: torch.Tensor, grad: torch.Tensor) -> bool:
    """Whether a kernel can update ``param`` by ``grad``."""
    return (
        type(param) in _PLAIN
        and type(grad) in _PLAIN
        and param.is_cpu
        and param.layout is grad.layout is torch.strided
        and param.dtype is grad.dtype
        and (param.dtype in _REAL or param.dtype in _COMPLEX)
        and not param.is_inference()
        and not param.is_conj()
        and not param.is_neg()
        and _dense(param)
    )


def _dense(tensor: torch.Tensor) -> bool:
    """Whether its elements fill a run of memory, each once, in whatever order."""
    if tensor.is_contiguous():
        return True
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def like(param: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """``tensor``, or a copy of it that lies in memory as ``param`` does."""
    if tensor.stride() == param.stride() and not tensor.is_conj() and not tensor.is_neg():
        return tensor
    return torch.empty_strided(param.shape, param.stride(), dtype=param.dtype).copy_(tensor)


def _real(tensor: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(tensor.detach()) if tensor.is_complex() else tensor


class Batch:
    """Lists of tensors, one entry a parameter, as the native call takes them."""

    def __init__(self, names: tuple[str, ...], first: bool) -> None:
        self.first = first  # whether the states were made just now
        self.names = names
        self.params: list[torch.Tensor] = []
        self.reals: list[torch.Tensor] = []  # the parameters, complex ones as pairs of numbers
        self.grads: list[torch.Tensor] = []
        self.states: list[list[torch.Tensor]] = [[] for _ in names]
        self.steps: list[torch.Tensor] = []

    def add(self, param: torch.Tensor, grad: torch.Tensor, state: dict[str, Any]) -> bool:
        """Whether this parameter must be added anew at every step, for the gradient was copied."""
        lying = like(param, grad)
        self.params.append(param)
        self.reals.append(_real(param))
        self.grads.append(_real(lying))
        for name, tensors in zip(self.names, self.states, strict=True):
            state[name] = like(param, state[name])
            tensors.append(_real(state[name]))
        if "step" in state:
            self.steps.append(state["step"])
        return lying is not grad or param.is_complex()


class Cache:
    """How the parameters of a group were sorted, and what must still be so for it to hold.

    It keeps no gradient: their memory is given back between two steps.
    """

    def __init__(self, group: dict[str, Any], names: tuple[str, ...]) -> None:
        self.batches: list[Batch] = []
        self.left: list[torch.Tensor] = []  # for torch's own step
        self.states: list[dict[str, Any]] = []
        self.once = False  # whether it holds for this step alone
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

    def renew(self, group: dict[str, Any], names: tuple[str, ...]) -> bool:
        """Takes the gradients of now, where parameters and states are the objects that they were.

        Whether it could; how the gradients lie is for the native call to check.
        """
        params = group["params"]
        if self.once or torch.compiler.is_compiling() or group["differentiable"]:
            return False
        if names != self._names or not _same(params, self._params):
            return False
        grads = [p.grad for p in params]
        given = [g for g in grads if g is not None]
        same = [g is not None for g in grads] == self._with_grad and _same(self._tensors(), self._seen)
        if not same or not set(map(type, given)) <= _PLAIN:
            return False
        for batch in self.batches:  # one, or none
            batch.grads = given
        return True

    def release(self) -> None:
        for batch in self.batches:
            batch.grads = []


def _same(now: list[Any], before: list[Any]) -> bool:
    return len(now) == len(before) and all(map(operator.is_, now, before))
