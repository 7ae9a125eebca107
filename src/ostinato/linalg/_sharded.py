"""Batches that are spread over processes as DTensors: each solves the matrices that it holds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def is_sharded(A: Tensor) -> bool:
    # Who has a DTensor has imported its module; it takes a second, so nobody else shall.
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(A, module.DTensor)


def on_shards(solve: Callable[[Tensor], tuple[Tensor, ...]], A: Any) -> tuple[Tensor, ...]:
    """``solve`` of the matrices held here. What splits the batch goes on to do so; what splits matrices,
    or sums up over processes, is gathered first."""
    from torch.distributed.tensor import DTensor, Replicate, Shard

    batch = A.ndim - 2
    kept = [p if type(p) is Shard and p.dim < batch else Replicate() for p in A.placements]
    mesh = A.device_mesh

    def whole(part: Tensor) -> Tensor:
        shape = A.shape[:batch] + part.shape[batch:]
        strides = torch.empty(shape, device="meta").stride()
        if part.ndim == A.ndim:  # eigenvectors lie one after the other
            strides = (*strides[:-2], strides[-1], strides[-2])
        result = DTensor.from_local(part, mesh, kept, run_check=False, shape=shape, stride=strides)
        return result  # type: ignore[no-any-return]

    return tuple(map(whole, solve(A.redistribute(mesh, kept).to_local())))
