"""What operators do with an ``MXTensor``: those that keep it quantized; all others dequantize."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from .._errors import fail
from ._tensor import MXTensor
from ._transposed import Transposed

_aten = torch.ops.aten
_HANDLERS: dict[Any, Callable[..., Any]] = {}


def call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of ``func``."""
    handler = _HANDLERS.get(func) or _HANDLERS.get(func._schema.name)
    made = handler(*args, **kwargs) if handler is not None else NotImplemented
    if made is not NotImplemented:
        return made
    for argument, given in zip(func._schema.arguments, args, strict=False):
        written = argument.alias_info is not None and argument.alias_info.is_write
        if written and any(isinstance(each, MXTensor) for each in tree_leaves(given)):
            raise fail("mx.in_place", op=func)
    if any(isinstance(kwargs.get(a.name), MXTensor) for a in func._schema.arguments if a.is_out):
        raise fail("mx.in_place", op=func)
    args, kwargs = tree_map_only(MXTensor, MXTensor.dequantize, (args, kwargs))
    return func(*args, **kwargs)


def _handles(*ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for op in ops:
            _HANDLERS[op] = function
        return function

    return enter


def _by_bytes(x: MXTensor, op: Callable[[torch.Tensor], torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """``op`` of the elements and of the scales, as bytes, for which every device has operators."""
    q, s = op(x._qdata), op(x._scale)
    return (q, s) if x.qdata is x._qdata else (q.view(x.qdata.dtype), s.view(x.scale.dtype))


@_handles(_aten.detach.default, _aten.alias.default)
def _alias(x: MXTensor) -> MXTensor:
    return x.like(x.qdata, x.scale, x.shape)


@_handles(_aten.clone.default)
def _clone(x: MXTensor, *, memory_format: Any = None) -> MXTensor:
    return x.like(*_by_bytes(x, torch.clone), x.shape)


@_handles(_aten._to_copy.default)
def _to_copy(
    x: MXTensor, *, dtype: Any = None, device: Any = None, non_blocking: bool = False, **_: Any
) -> Any:
    if dtype is not None and not dtype.is_floating_point:
        return NotImplemented
    move = torch.clone if device is None else lambda t: t.to(device, non_blocking=non_blocking, copy=True)
    return x.like(*_by_bytes(x, move), x.shape, dtype)


@_handles(_aten.view.default, _aten._unsafe_view.default)
def _view(x: MXTensor, size: list[int]) -> Any:
    shape = torch.empty(x.shape, device="meta").view(size).shape
    if not shape or shape[-1] != x.shape[-1]:
        return NotImplemented
    q, s = x.qdata, x.scale
    return x.like(q.view(*shape[:-1], q.shape[-1]), s.view(*shape[:-1], s.shape[-1]), shape)


@_handles(_aten.t.default)
def _t(x: MXTensor) -> Any:
    return Transposed(x) if x.dim() == 2 else NotImplemented


@_handles(_aten.transpose.int)
def _transpose(x: MXTensor, a: int, b: int) -> Any:
    return Transposed(x) if x.dim() == 2 and a % 2 != b % 2 else NotImplemented


def _outer(x: MXTensor, dim: int) -> bool:
    return dim % x.dim() != x.dim() - 1


@_handles(_aten.slice.Tensor)
def _slice(x: MXTensor, dim: int = 0, *bounds: Any) -> Any:
    if not _outer(x, dim):
        return NotImplemented
    data = _by_bytes(x, lambda t: _aten.slice.Tensor(t, dim % x.dim(), *bounds))
    return x.like(*data, (*data[1].shape[:-1], x.shape[-1]))


@_handles(_aten.select.int)
def _select(x: MXTensor, dim: int, index: int) -> Any:
    if not _outer(x, dim):
        return NotImplemented
    data = _by_bytes(x, lambda t: t.select(dim % x.dim(), index))
    return x.like(*data, (*data[1].shape[:-1], x.shape[-1]))


@_handles(_aten.cat.default)
def _cat(tensors: list[Any], dim: int = 0) -> Any:
    first = tensors[0]
    if not all(isinstance(t, MXTensor) and _same_blocks(t, first) for t in tensors) or not _outer(first, dim):
        return NotImplemented
    dim %= first.dim()
    q = torch.cat([t.qdata.view(torch.uint8) for t in tensors], dim)
    s = torch.cat([t.scale.view(torch.uint8) for t in tensors], dim)
    shape = (*s.shape[:-1], first.shape[-1])
    return first.like(q.view(first.qdata.dtype), s.view(first.scale.dtype), shape)


def _same_blocks(a: MXTensor, b: MXTensor) -> bool:
    own = (a.format, a.block_size, a.dtype, a.dim(), a.shape[-1])
    return own == (b.format, b.block_size, b.dtype, b.dim(), b.shape[-1])


@_handles(_aten.copy_.default)
def _copy_(x: Any, source: Any, non_blocking: bool = False) -> Any:
    if not (isinstance(x, MXTensor) and isinstance(source, MXTensor)):
        return NotImplemented
    if not _same_blocks(x, source) or x.shape != source.shape:
        return NotImplemented
    for mine, its in ((x.qdata, source.qdata), (x.scale, source.scale)):
        mine.view(torch.uint8).copy_(its.view(torch.uint8), non_blocking)
    return x


@_handles(_aten.embedding.default)
def _embedding(weight: Any, indices: torch.Tensor, *_: Any) -> Any:
    if not isinstance(weight, MXTensor) or weight.dim() != 2:
        return NotImplemented
    flat = indices.reshape(-1)
    rows = weight.like(
        *_by_bytes(weight, lambda t: t.index_select(0, flat)), (indices.numel(), weight.shape[1])
    )
    return rows.dequantize().view(*indices.shape, weight.shape[1])


__all__ = ["call"]
