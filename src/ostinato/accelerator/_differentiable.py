"""A forward graph and a backward graph, joined by an autograd function."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._errors import fail
from ._graph import Graph
from ._writes import Writes


class _Call:
    """One forward; alive as long as its backward may come."""

    __slots__ = ("__weakref__", "done")

    def __init__(self) -> None:
        self.done = False


class DifferentiableGraph:
    """``function`` captured once forward and once backward.

    Args:
        function: called with ``inputs`` alone; returns tensors in any structure.
        inputs: its tensor inputs, used by address.
        parameters: tensors that it closes over and that get gradients.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        inputs: Sequence[torch.Tensor],
        parameters: Sequence[torch.Tensor],
        pool: tuple[int, int] | None,
        numerics: str,
        allow_unused: bool,
    ) -> None:
        self._inputs = tuple(inputs)
        self.parameters = tuple(parameters)
        device = device_of((*inputs, *parameters))
        self._forward = Graph(pool=pool, numerics=numerics, device=device)
        self._writes = Writes(self._inputs)
        with torch.enable_grad(), self._forward:
            outputs = function(*self._inputs)
            self._writes.note()
        leaves, self._structure = pytree.tree_flatten(outputs)
        self._outputs = leaves
        differentiable = [o for o in leaves if isinstance(o, torch.Tensor) and o.requires_grad]
        self._positions = [i for i, o in enumerate(leaves) if isinstance(o, torch.Tensor) and o.requires_grad]
        sources = [t for t in (*self._inputs, *self.parameters) if t.requires_grad]
        self._grad_outputs = [torch.zeros_like(o) for o in differentiable]
        self._backward = Graph(pool=self._forward.pool(), numerics=numerics, device=device)
        grads: tuple[torch.Tensor | None, ...] = (None,) * len(sources)
        if differentiable:  # else no backward pass will ever come
            # Autocast is for the forward; the operators of the backward have the dtypes that it gave them.
            with without_autocast(differentiable[0].device.type), self._backward:
                grads = torch.autograd.grad(
                    differentiable, sources, self._grad_outputs, allow_unused=allow_unused
                )
            if _draws_again(self._backward):
                raise fail("accelerator.drawn_again")
        given = iter(grads)
        self._grads = [next(given) if t.requires_grad else None for t in (*self._inputs, *self.parameters)]
        # The outputs' own autograd graph has served: replays give values to the same memory.
        self._outputs = [o.detach() if isinstance(o, torch.Tensor) else o for o in leaves]
        self._latest: weakref.ref[_Call] | None = None  # the call whose activations are there
        self._function = _function_of(self)

    def __call__(self, *inputs: torch.Tensor) -> Any:
        """Replays on ``inputs``; gradients flow to them and to the parameters."""
        results = self._function.apply(*inputs, *self.parameters)  # type: ignore[attr-defined]
        self._writes.hand_back(inputs)
        given = iter(results)
        leaves = [next(given) if isinstance(o, torch.Tensor) else o for o in self._outputs]
        return pytree.tree_unflatten(leaves, self._structure)

    @property
    def pool(self) -> tuple[int, int]:
        return self._forward.pool()

    @property
    def pending(self) -> bool:
        """Whether the backward of the latest call has not run and may still come."""
        call = None if self._latest is None else self._latest()
        return call is not None and not call.done

    def run_forward(self, call: _Call, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        for static, given in zip(self._inputs, inputs, strict=True):
            if (static.shape, static.dtype) != (given.shape, given.dtype):
                got, want = (f"{t.dtype}{list(t.shape)}" for t in (given, static))
                raise fail("accelerator.graphed_input", got=got, want=want)
        self._latest = weakref.ref(call)
        feed(self._inputs, inputs)
        self._forward.replay()
        return tuple(o.detach() for o in self._outputs if isinstance(o, torch.Tensor))

    def run_backward(
        self, call: _Call, grads: Sequence[torch.Tensor | None]
    ) -> tuple[torch.Tensor | None, ...]:
        if self._latest is None or self._latest() is not call:
            raise fail("accelerator.overwritten")
        call.done = True
        tensors = [i for i, o in enumerate(self._outputs) if isinstance(o, torch.Tensor)]
        wanted = [grads[tensors.index(position)] for position in self._positions]
        for static, grad in zip(self._grad_outputs, wanted, strict=True):
            if grad is None:
                static.zero_()
            else:
                static.copy_(grad)
        self._backward.replay()
        return tuple(g if g is None else g.detach().clone() for g in self._grads)


def device_of(tensors: Sequence[torch.Tensor]) -> torch.device | None:
    """The device of the first of ``tensors``, on which their graph is captured; None of none."""
    return tensors[0].device if tensors else None


def _draws_again(backward: Graph) -> bool:
    """Whether a backward sets the generator to a state that is not its own, and draws."""
    random = [n.op for n in backward.nodes if n.random]
    return "generator.set" in random and not all(op.startswith("generator.") for op in random)


def without_autocast(kind: str) -> contextlib.AbstractContextManager[Any]:
    """Autocast off, where it is on."""
    return (
        torch.autocast(kind, enabled=False) if torch.is_autocast_enabled(kind) else contextlib.nullcontext()
    )


def feed(static: Sequence[torch.Tensor], given: Sequence[torch.Tensor]) -> None:
    """Copies what was given to where the graph reads it."""
    if torch.is_grad_enabled():
        with torch.no_grad():
            return feed(static, given)
    for target, source in zip(static, given, strict=True):
        if target.data_ptr() != source.data_ptr():
            target.copy_(source)


def copied(outputs: Any) -> Any:
    """Outputs of a graph in memory of their own."""
    if isinstance(outputs, torch.Tensor):  # to look through a structure costs as much as a step
        return outputs.clone()
    return pytree.tree_map_only(torch.Tensor, torch.clone, outputs)


def _function_of(graph: DifferentiableGraph) -> type[torch.autograd.Function]:
    count = len(graph._inputs)

    class Replay(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            ctx.call = _Call()
            results = graph.run_forward(ctx.call, tensors[:count])
            fixed = [r for i, r in enumerate(results) if not r.is_floating_point() and not r.is_complex()]
            ctx.mark_non_differentiable(*fixed)
            return results

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, *grads: torch.Tensor | None) -> Any:
            return graph.run_backward(ctx.call, grads)

    return Replay
