"""What stands at the names of torch's fused steps after ``ost.install()``, for ``fused=True`` on the CPU.

Each function gets what stood there before, and returns what shall stand there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .. import _native
from ._batch import like, takes

_Tensors = list[torch.Tensor]


def adam(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def fused(
        params: _Tensors,
        grads: _Tensors,
        exp_avgs: _Tensors,
        exp_avg_sqs: _Tensors,
        max_exp_avg_sqs: _Tensors,
        state_steps: _Tensors,
        grad_scale: torch.Tensor | None,
        found_inf: torch.Tensor | None,
        **options: Any,
    ) -> None:
        states = (exp_avgs, exp_avg_sqs, max_exp_avg_sqs)
        if not _ours(params, grads, *states) or options["differentiable"]:
            original(params, grads, *states, state_steps, grad_scale, found_inf, **options)
            return
        rate = _rate(options["lr"])
        numbers = [float(options[k]) for k in ("beta1", "beta2", "eps", "weight_decay")]
        flags = options["decoupled_weight_decay"], options["maximize"], False
        squares = max_exp_avg_sqs if options["amsgrad"] else []
        lists = (params, _laid(params, grads), exp_avgs, exp_avg_sqs, squares, state_steps)
        _native.ops().adam_(*lists, rate[0], grad_scale, found_inf, None, rate[1], *numbers, *flags)
        torch.autograd.graph.increment_version(params)

    return fused


def sgd(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def fused(
        params: _Tensors,
        grads: _Tensors,
        momentum_buffer_list: list[torch.Tensor | None],
        grad_scale: torch.Tensor | None,
        found_inf: torch.Tensor | None,
        **options: Any,
    ) -> None:
        known = [b for b in momentum_buffer_list if b is not None]
        # Buffers that are made now, and a scaler that may skip: the step of torch decides what is kept.
        complete = len(known) == (len(params) if options["momentum"] else 0)
        if not complete or not _ours(params, grads, known):
            original(params, grads, momentum_buffer_list, grad_scale, found_inf, **options)
            return
        rate = _rate(options["lr"])
        numbers = [float(options[k]) for k in ("momentum", "dampening", "weight_decay")]
        flags = options["nesterov"], options["maximize"], False, False
        lists = (params, _laid(params, grads), known)
        _native.ops().sgd_(*lists, rate[0], grad_scale, found_inf, None, rate[1], *numbers, *flags)
        torch.autograd.graph.increment_version(params)

    return fused


def adagrad(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def fused(
        params: _Tensors,
        grads: _Tensors,
        state_sums: _Tensors,
        state_steps: _Tensors,
        grad_scale: torch.Tensor | None,
        found_inf: torch.Tensor | None,
        **options: Any,
    ) -> None:
        if not _ours(params, grads, state_sums) or options["differentiable"]:
            original(params, grads, state_sums, state_steps, grad_scale, found_inf, **options)
            return
        rate = _rate(options["lr"])
        numbers = [float(options[k]) for k in ("lr_decay", "eps", "weight_decay")]
        lists = (params, _laid(params, grads), state_sums, state_steps)
        flags = options["maximize"], False
        _native.ops().adagrad_(*lists, rate[0], grad_scale, found_inf, None, rate[1], *numbers, *flags)
        torch.autograd.graph.increment_version(params)

    return fused


def _ours(params: _Tensors, grads: _Tensors, *states: Sequence[torch.Tensor]) -> bool:
    """Whether the native call takes all of these; complex numbers come as pairs by then, or not at all."""
    if torch.compiler.is_compiling() or any(p.is_complex() for p in params):
        return False
    if not all(takes(p, g) for p, g in zip(params, grads, strict=True)):
        return False
    pairs = ((s, p) for each in states for s, p in zip(each, params, strict=False))  # a list may be empty
    return all(s.stride() == p.stride() and s.dtype is p.dtype for s, p in pairs)


def _laid(params: _Tensors, grads: _Tensors) -> _Tensors:
    return [like(p, g) for p, g in zip(params, grads, strict=True)]


def _rate(lr: float | torch.Tensor) -> tuple[torch.Tensor | None, float]:
    """The rate as the operators take it: as a tensor, or as a number."""
    if isinstance(lr, torch.Tensor) and lr.is_cpu and lr.dtype in (torch.float32, torch.float64):
        return lr, 0.0
    return None, float(lr)
