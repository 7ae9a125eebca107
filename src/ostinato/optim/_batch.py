"""The parameters of a group that one native call updates."""

from __future__ import annotations

from typing import Any

import torch

from .. import _native
from ._spread import is_spread, part

_REAL = {torch.float32, torch.float64, torch.bfloat16, torch.float16}
_COUNTS = {torch.float32, torch.float64}
_COMPLEX = {torch.complex64, torch.complex128}
PLAIN = {torch.Tensor, torch.nn.Parameter}


def takes(param: torch.Tensor, grad: torch.Tensor) -> bool:
    """Whether a kernel can update ``param`` by ``grad``."""
    return (
        type(param) in PLAIN
        and type(grad) in PLAIN
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


def _counter(state: dict[str, Any]) -> torch.Tensor:
    """The step count of a state; what the caller put there may be a number, or of another dtype."""
    step = state["step"]
    if not isinstance(step, torch.Tensor) or step.dtype not in _COUNTS:
        step = state["step"] = torch.tensor(float(step), dtype=torch.float64)
    return step


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
        self.copied: list[torch.Tensor] = []  # gradients of which `grads` has copies
        self.masters: list[tuple[torch.Tensor, torch.Tensor]] = []  # parameters, and what stands for them
        self.spread: dict[int, torch.Tensor] = {}  # gradients of which `grads` has the part here
        self.states: list[list[torch.Tensor]] = [[] for _ in names]
        self.steps: list[torch.Tensor] = []

    def add_master(
        self, param: torch.Tensor, master: torch.Tensor, grad: torch.Tensor, state: dict[str, Any]
    ) -> bool:
        """Adds float32 weights in the place of their parameter, whose gradient is widened."""
        for name in self.names:
            state[name] = state[name].float()
        self.add(master, grad.float(), state)
        self.copied.append(grad)
        self.masters.append((param, master))
        return True

    def add(self, param: torch.Tensor, grad: torch.Tensor, state: dict[str, Any]) -> bool:
        """Whether this parameter must be added anew at every step, for it or its gradient is not as given."""
        here = part(param)
        lying = like(here, part(grad))
        if lying is not part(grad):
            self.copied.append(grad)
        if is_spread(grad):
            self.spread[len(self.params)] = grad
        self.params.append(param)
        self.reals.append(_real(here))
        self.grads.append(_real(lying))
        for name, tensors in zip(self.names, self.states, strict=True):
            if here is param:
                state[name] = like(param, state[name])
            tensors.append(_real(part(state[name])))
        if "step" in state:
            self.steps.append(_counter(state))
        return lying is not grad or param.is_complex()

    def undivided(self) -> list[torch.Tensor]:
        """The gradients that lie here as a whole."""
        return [grad for i, grad in enumerate(self.grads) if i not in self.spread]

    def update(self, operator: str, states: int, options: tuple[Any, ...]) -> None:
        """One call of the operator, which has lists for so many states: what a graph records."""
        lists = [self.reals, self.grads, *self.states, *([] for _ in range(states - len(self.states)))]
        if self.steps:
            lists.append(self.steps)
        getattr(_native.ops(), operator)(*lists, *options)
