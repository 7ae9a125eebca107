"""Products with an ``MXTensor`` ``[N, K]`` by the kernels, where they take what is given."""

from __future__ import annotations

from typing import Any

import torch

from ._formats import MXFormat
from ._ops import has_kernel, has_numbers, mx_linear, mx_linear_rounded
from ._tensor import MXTensor


def linear(x: torch.Tensor, weight: MXTensor, bias: torch.Tensor | None) -> Any:
    """``x @ weight.t() + bias``."""
    if not _takes(x, weight, bias):
        return NotImplemented
    return _called(mx_linear, x, weight, bias, weight.block_size)


def linear_rounded(
    x: torch.Tensor,
    weight: MXTensor,
    bias: torch.Tensor | None,
    format: MXFormat,
    *,
    block_size: int,
    scale_mode: str,
) -> Any:
    """``linear`` of ``x`` rounded to ``format``: in integers where ``weight`` consists of such, too."""
    if weight.block_size != block_size or not _takes(x, weight, bias):
        return NotImplemented
    return _called(mx_linear_rounded, x, weight, bias, block_size, format.name, scale_mode)


def _called(op: Any, x: torch.Tensor, weight: MXTensor, bias: torch.Tensor | None, *how: Any) -> Any:
    data = x, weight.qdata, weight.scale, bias, weight.format.name, *how
    if torch.is_grad_enabled() and (x.requires_grad or (bias is not None and bias.requires_grad)):
        return op(*data)
    # An operator whose gradient is written in Python takes twice the time to call, also where none is wanted.
    with torch._C._AutoDispatchBelowAutograd():
        return op(*data)


def _takes(x: torch.Tensor, weight: MXTensor, bias: torch.Tensor | None) -> bool:
    if x.dtype is not weight.dtype or not has_numbers(x.dtype) or x.shape[-1:] != weight.shape[1:]:
        return False
    given = (x,) if bias is None else (x, bias)
    if bias is not None and bias.dtype is not x.dtype:
        return False
    return has_kernel(*given, weight.qdata, weight.scale)


__all__ = ["linear", "linear_rounded"]
