"""What torch.distributed does with an ``MXTensor``: DTensors of rows are cut, sent and gathered as bytes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from ._operators import _by_bytes, _handles, _outer
from ._tensor import MXTensor

_aten = torch.ops.aten
# Collectives are entered by name: not every torch has them, and some come with torch.distributed.tensor.


@_handles(_aten.split.Tensor, _aten.split_with_sizes.default)
def _split(x: MXTensor, size: Any, dim: int = 0) -> Any:
    if not _outer(x, dim):
        return NotImplemented
    parts = zip(*(t.view(torch.uint8).split(size, dim % x.dim()) for t in (x.qdata, x.scale)), strict=True)
    return [_from_bytes(x, q, s) for q, s in parts]


@_handles(_aten.constant_pad_nd.default)
def _pad(x: MXTensor, pad: list[int], value: float = 0) -> Any:
    if value != 0 or any(pad[:2]):
        return NotImplemented
    # Bytes of zero are elements of zero, whatever their scale.
    return _from_bytes(x, *_by_bytes(x, lambda t: _aten.constant_pad_nd(t, pad)))


@_handles(_aten.empty_like.default)
def _empty_like(x: MXTensor, *, dtype: Any = None, device: Any = None, **_: Any) -> Any:
    if dtype not in (None, x.dtype):
        return NotImplemented
    return x.like(*_by_bytes(x, lambda t: torch.empty_like(t, device=device)), x.shape)


def _from_bytes(x: MXTensor, q: torch.Tensor, s: torch.Tensor) -> MXTensor:
    return x.like(q.view(x.qdata.dtype), s.view(x.scale.dtype), (*s.shape[:-1], x.shape[-1]))


@_handles("_c10d_functional::all_gather_into_tensor")
def _gather(x: MXTensor, group_size: int, group: Any) -> Any:
    """Of all processes, along the first dimension."""
    if x.dim() < 2:
        return NotImplemented
    functional = torch.ops._c10d_functional

    def gathered(part: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = functional.all_gather_into_tensor(part.contiguous(), group_size, group)
        waited: torch.Tensor = functional.wait_tensor(made)
        return waited

    return _from_bytes(x, *_by_bytes(x, gathered))


@_handles("_c10d_functional::wait_tensor", "_c10d_functional::_wrap_tensor_autograd")
def _waited(x: MXTensor) -> MXTensor:
    return x  # what is gathered here has been waited for


@_handles("c10d::broadcast_")
def _broadcast(tensors: list[MXTensor], *how: Any) -> Any:
    work = None
    for part in _parts(tensors[0]):
        with _dense(part) as buffer:
            _, work = torch.ops.c10d.broadcast_([buffer], *how)
            work.wait()
    return tensors, work


@_handles("c10d::scatter_")
def _scatter(outputs: list[MXTensor], inputs: list[list[MXTensor]], *how: Any) -> Any:
    work = None
    for i, part in enumerate(_parts(outputs[0])):
        rows = [[_parts(each)[i].contiguous() for each in row] for row in inputs]
        with _dense(part) as buffer:
            _, work = torch.ops.c10d.scatter_([buffer], rows, *how)
            work.wait()
    return outputs, work


def _parts(x: MXTensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.qdata.view(torch.uint8), x.scale.view(torch.uint8)


@contextmanager
def _dense(part: torch.Tensor) -> Iterator[torch.Tensor]:
    """Memory in one piece whose contents go into ``part``."""
    buffer = part.contiguous()
    yield buffer
    if buffer.data_ptr() != part.data_ptr():
        part.copy_(buffer)


def is_sharded(x: torch.Tensor) -> bool:
    """Whether it is a DTensor."""
    # Who has one has imported its module; that takes a second, so nobody else shall.
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(x, module.DTensor)


def on_shards(quantize: Callable[[torch.Tensor], MXTensor], x: Any) -> torch.Tensor:
    """``quantize`` of the rows that are here; what splits rows, or is a sum of processes, is gathered."""
    from torch.distributed.tensor import DTensor, Replicate, Shard

    kept = [p if type(p) is Shard and p.dim % x.ndim != x.ndim - 1 else Replicate() for p in x.placements]
    local = x.redistribute(x.device_mesh, kept).to_local()
    made: torch.Tensor = DTensor.from_local(
        quantize(local), x.device_mesh, kept, run_check=False, shape=x.shape, stride=x.contiguous().stride()
    )
    return made


__all__ = ["is_sharded", "on_shards"]
