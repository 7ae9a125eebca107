"""The native operators, and what torch must know of them: shapes without data, and gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .._native import ops
from ._formats import format_of

mx_quantize: Any = ops().mx_quantize.default
mx_dequantize: Any = ops().mx_dequantize.default
mx_round: Any = ops().mx_round.default
mx_linear: Any = ops().mx_linear.default
mx_linear_rounded: Any = ops().mx_linear_rounded.default

_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def has_kernel(*tensors: Tensor) -> bool:
    """Whether the kernels take these, all of them plain tensors that nobody traces."""
    return not torch.compiler.is_compiling() and all(map(_is_plain, tensors))


def _is_plain(x: Tensor) -> bool:
    return (
        type(x) in (Tensor, torch.nn.Parameter)
        and x.device.type == "cpu"
        and not torch._C._functorch.is_functorch_wrapped_tensor(x)
    )


def has_numbers(dtype: torch.dtype) -> bool:
    """Whether the kernels read and write this dtype."""
    return dtype in _DTYPES


def _quantize_fake(x: Tensor, format: str, block_size: int, scale_mode: str) -> tuple[Tensor, Tensor]:
    in_row, blocks = format_of(format).row_sizes(x.shape[-1], block_size)
    outer = x.shape[:-1]
    return x.new_empty((*outer, in_row), dtype=torch.uint8), x.new_empty((*outer, blocks), dtype=torch.uint8)


def _dequantize_fake(
    codes: Tensor, scales: Tensor, format: str, block_size: int, columns: int, dtype: torch.dtype
) -> Tensor:
    return scales.new_empty((*scales.shape[:-1], columns), dtype=dtype)


def _round_fake(x: Tensor, format: str, block_size: int, scale_mode: str) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _linear_fake(x: Tensor, codes: Tensor, *_: Any) -> Tensor:
    return x.new_empty((*x.shape[:-1], codes.shape[0]))


torch.library.register_fake("ostinato::mx_quantize", _quantize_fake)
torch.library.register_fake("ostinato::mx_dequantize", _dequantize_fake)
torch.library.register_fake("ostinato::mx_round", _round_fake)
torch.library.register_fake("ostinato::mx_linear", _linear_fake)
torch.library.register_fake("ostinato::mx_linear_rounded", _linear_fake)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    x, codes, scales, _, ctx.format, ctx.block_size, *ctx.rounding = inputs
    ctx.save_for_backward(codes, scales)
    ctx.columns = x.shape[-1]


def _linear_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    """Rounding of x counts as the identity."""
    codes, scales = ctx.saved_tensors
    needs_x, _, _, needs_bias, *_ = ctx.needs_input_grad
    of_x = None
    if needs_x:
        of_x = grad @ mx_dequantize(codes, scales, ctx.format, ctx.block_size, ctx.columns, grad.dtype)
    of_bias = grad.flatten(0, -2).sum(0) if needs_bias else None
    return of_x, None, None, of_bias, None, None, *(None for _ in ctx.rounding)


for _name in ("ostinato::mx_linear", "ostinato::mx_linear_rounded"):
    torch.library.register_autograd(_name, _linear_backward, setup_context=_save)

__all__ = [
    "has_kernel",
    "has_numbers",
    "mx_dequantize",
    "mx_linear",
    "mx_linear_rounded",
    "mx_quantize",
    "mx_round",
]
