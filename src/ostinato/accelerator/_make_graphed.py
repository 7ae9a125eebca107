"""``make_graphed_callables``: the same call as torch.cuda's, on every device."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._errors import fail
from ._differentiable import DifferentiableGraph, device_of, without_autocast
from ._holdings import Holdings
from ._registry import implementation


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: tuple[int, int] | None = None,
) -> Any:
    """Graphed versions of ``callables``, each with a forward and a backward graph.

    Args:
        callables: a function or nn.Module, or a tuple of them that run in this order.
            A module is returned itself, its ``forward`` replayed while its training
            flag is what it was at capture.
        sample_args: for each callable a tuple of tensors (in any structure) with the
            shapes, dtypes and ``requires_grad`` of the real ones; they become the
            graph's static inputs.
        num_warmup_iters: eager calls before the capture.
        allow_unused_input: whether an input may have no gradient.
        pool: a pool handle to share.

    Returns graphed callables in the same structure. The tensors that they return
    are overwritten by the next call.

    Raises:
        UsageError: the sample arguments are not one tuple of tensors a callable.
        CaptureError: a callable does what cannot be captured.
    """
    single = not isinstance(callables, tuple)
    functions = (callables,) if single else callables
    samples = (sample_args,) if single else sample_args
    if len(functions) != len(samples):
        what = f"have {len(samples)} entries for {len(functions)} callables"
        raise fail("accelerator.graphed_grad", what=what, hint="pass one tuple of arguments a callable")
    if pool is None:
        device = device_of([x for x in pytree.tree_leaves(samples) if isinstance(x, torch.Tensor)])
        pool = implementation(device.type if device is not None else "cpu").new_pool()
    made = tuple(
        _make_one(f, args, num_warmup_iters, allow_unused_input, pool)
        for f, args in zip(functions, samples, strict=True)
    )
    return made[0] if single else made


def _make_one(
    function: Any, args: Any, warmups: int, allow_unused: bool, pool: tuple[int, int]
) -> Callable[..., Any]:
    leaves, structure = pytree.tree_flatten(tuple(args))
    if not all(isinstance(x, torch.Tensor) for x in leaves):
        hint = "bind everything else beforehand, for example with functools.partial"
        raise fail("accelerator.graphed_grad", what="are not all tensors", hint=hint)
    module = function if isinstance(function, torch.nn.Module) else None
    parameters = [p for p in module.parameters() if p.requires_grad] if module is not None else []
    target = module.forward if module is not None else function

    def call(*tensors: torch.Tensor) -> Any:
        return target(*pytree.tree_unflatten(list(tensors), structure))

    for _ in range(warmups):
        _warm_up(call, leaves, [t for t in (*leaves, *parameters) if t.requires_grad], allow_unused)
    holdings = Holdings([] if module is None else [module])
    graph = DifferentiableGraph(call, leaves, parameters, pool, "exact", allow_unused)
    if changed := holdings.changed():
        raise fail("accelerator.rebound", name=changed)

    def replay(*given: Any, **named: Any) -> Any:
        tensors, got = pytree.tree_flatten(_by_position(target, given, named) if named else given)
        if got != structure:
            hint = "call it with arguments of the structure it was made with"
            raise fail("accelerator.graphed_grad", what="differ in structure from these", hint=hint)
        if changed := holdings.changed():
            raise fail("accelerator.replaced", name=changed)
        return graph(*tensors)

    if module is None:
        return replay
    module.forward = _Forward(module, replay)  # type: ignore[assignment]
    return module


def _warm_up(call: Callable[..., Any], leaves: list[Any], sources: list[Any], allow_unused: bool) -> None:
    outputs = [
        o for o in pytree.tree_leaves(call(*leaves)) if isinstance(o, torch.Tensor) and o.requires_grad
    ]
    if outputs and sources:
        with without_autocast(outputs[0].device.type):
            seeds = [torch.zeros_like(o) for o in outputs]
            torch.autograd.grad(outputs, sources, seeds, allow_unused=allow_unused)


def _by_position(target: Any, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of a call in the places that the samples have; what can only be named comes last."""
    bound = inspect.signature(target).bind(*given, **named)
    return (*bound.args, bound.kwargs) if bound.kwargs else bound.args


class _Forward:
    """The ``forward`` of a graphed module: replays while all training flags are what they were.

    A copy of the module, and what a pickle of it makes, gets the ``forward`` of before: the graphs
    compute with the parameters of the module that they were captured from.
    """

    def __init__(self, module: torch.nn.Module, replay: Callable[..., Any]) -> None:
        self._eager, self._replay = module.forward, replay
        self._modules = list(module.modules())
        self._flags = [m.training for m in self._modules]
        functools.update_wrapper(self, self._eager)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        same = [m.training for m in self._modules] == self._flags
        return (self._replay if same else self._eager)(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self._eager,)


def _itself(forward: Any) -> Any:
    return forward
