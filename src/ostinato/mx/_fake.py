"""Rounding to a format within ordinary tensors, and with a gradient: for training, and for inputs."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from ._elements import decode, encode
from ._formats import MXFormat
from ._ops import has_kernel, has_numbers, mx_round
from ._quantize import check, in_blocks
from ._scales import exponents, scaled


def fake_quantize(
    x: torch.Tensor, format: MXFormat, *, block_size: int = 32, scale_mode: str = "floor"
) -> torch.Tensor:
    """``quantize(x, ...).dequantize()``, the same bits, with the gradient of ``x`` itself.

    The gradient is the straight-through estimator of Bengio, Léonard and Courville
    (2013): the rounding counts as the identity. It counts so for saturated numbers too.
    Where scales are constants, one that is out of range gets no gradient (Jacob et al.,
    2018); here the scale of a block follows its largest number, and that one, which
    alone decides the scale, would never again be told to shrink.

    Raises:
        UsageError: what ``quantize`` refuses.
    """
    rounded: torch.Tensor = _StraightThrough.apply(x, format, block_size, scale_mode)
    return rounded


def _rounded(x: torch.Tensor, format: MXFormat, block_size: int, scale_mode: str) -> torch.Tensor:
    """The numbers. What traces a program sees plain operators, without an ``MXTensor`` and short dtypes."""
    check(x, format, block_size, scale_mode)
    if has_kernel(x) and has_numbers(x.dtype):
        rounded: torch.Tensor = mx_round(x, format.name, block_size, scale_mode)
        return rounded
    blocks = in_blocks(x if x.dtype is torch.float64 else x.float(), block_size)
    bad = ~blocks.isfinite().all(-1, keepdim=True)
    blocks = blocks.masked_fill(bad, 0.0)
    exponent = exponents(blocks.abs().amax(-1, keepdim=True), format, scale_mode)
    elements = decode(encode(scaled(blocks, -exponent), format), format)
    numbers = scaled(elements.to(blocks.dtype), exponent).masked_fill(bad, float("nan"))
    return numbers.flatten(-2)[..., : x.shape[-1]].to(x.dtype).contiguous()


class _StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(x: torch.Tensor, format: MXFormat, block_size: int, scale_mode: str) -> torch.Tensor:
        return _rounded(x, format, block_size, scale_mode)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None, None, None]:
        return grad, None, None, None


@dataclasses.dataclass(frozen=True)
class Rounding:
    """How numbers are rounded: the arguments of ``quantize`` kept together."""

    format: MXFormat
    block_size: int = 32
    scale_mode: str = "floor"

    def __call__(self, x: torch.Tensor, dim: int = -1) -> torch.Tensor:
        """``x`` rounded, with the straight-through gradient, in blocks along ``dim``."""
        rounded = fake_quantize(
            x.movedim(dim, -1), self.format, block_size=self.block_size, scale_mode=self.scale_mode
        )
        return rounded.movedim(-1, dim)


__all__ = ["Rounding", "fake_quantize"]
