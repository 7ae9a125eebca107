"""From a tensor to blocks of elements with a shared scale."""

from __future__ import annotations

from typing import Any

import torch

from .._errors import fail
from ._elements import encode
from ._formats import FORMATS, MXFormat
from ._ops import has_kernel, has_numbers, mx_quantize
from ._packing import pack
from ._scales import MODES, exponents, scaled, to_bytes
from ._sharding import is_sharded, on_shards
from ._tensor import MXTensor

BLOCK_SIZES = (16, 32, 64, 128)
_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def quantize(
    x: torch.Tensor, format: MXFormat, *, block_size: int = 32, scale_mode: str = "floor"
) -> MXTensor:
    """``x`` in an MX format, blocks along the last dimension.

    Follows section 6.3 of the OCP Microscaling Formats specification 1.0 with
    ``scale_mode="floor"``: the scale of a block is the power of two of its largest
    magnitude, less the largest one of an element; elements are rounded to the nearest,
    halves to the even, and saturate.

    Args:
        x: ``[..., K]``, float32, float64, bfloat16 or float16, of any strides, on any
            device. A last block that is not full is filled up inside; nobody sees it.
        format: ``mxfp4``, ``mxfp6_e2m3``, ``mxfp6_e3m2``, ``mxfp8_e4m3``, ``mxfp8_e5m2``
            or ``mxint8``.
        block_size: 16, 32, 64 or 128.
        scale_mode: ``floor``; ``even``, which rounds the largest magnitude to an
            element's digits first; ``ceil``, which takes the next power of two;
            ``rceil``, the least scale with which no element saturates.

    Returns:
        An ``MXTensor`` of the shape and dtype of ``x``, without a gradient. Scales are
        between 2^-127 and 2^127. A block of zeros has the least one; one that holds a
        NaN or an infinity has a scale of NaN, and so do its elements when dequantized.
        Of a DTensor whose rows are whole, a DTensor of the same placements.

    Raises:
        UsageError: another dtype, no dimension, an unknown format, block size or mode.
    """
    check(x, format, block_size, scale_mode)
    x = x.detach()
    if is_sharded(x):
        how: Any = {"block_size": block_size, "scale_mode": scale_mode}
        return on_shards(lambda local: quantize(local, format, **how), x)  # type: ignore[return-value]
    if has_kernel(x) and has_numbers(x.dtype):
        codes, scales = mx_quantize(x, format.name, block_size, scale_mode)
        data = codes.view(format.storage), scales.view(torch.float8_e8m0fnu)
        return MXTensor(*data, format, x.shape, block_size, x.dtype)
    wide = x if x.dtype is torch.float64 else x.float()
    blocks = in_blocks(wide, block_size)
    bad = ~blocks.isfinite().all(-1)
    blocks = blocks.masked_fill(bad.unsqueeze(-1), 0.0)
    exponent = exponents(blocks.abs().amax(-1), format, scale_mode)
    codes = encode(scaled(blocks, -exponent.unsqueeze(-1)), format).flatten(-2)
    scale = to_bytes(exponent, bad)
    return MXTensor(pack(codes, format), scale, format, x.shape, block_size, x.dtype)


def in_blocks(x: torch.Tensor, block_size: int) -> torch.Tensor:
    """``[..., blocks, block_size]``."""
    x = torch.nn.functional.pad(x, (0, -x.shape[-1] % block_size))
    return x.reshape(*x.shape[:-1], x.shape[-1] // block_size, block_size)


def check(x: torch.Tensor, format: object, block_size: object, scale_mode: object) -> None:
    if not isinstance(format, MXFormat):
        raise fail("mx.format", value=format, known=", ".join(f"ost.mx.{name}" for name in FORMATS))
    if x.dtype not in _DTYPES:
        raise fail("mx.dtype", dtype=x.dtype)
    if x.dim() == 0:
        raise fail("mx.scalar")
    if block_size not in BLOCK_SIZES:
        raise fail("mx.block_size", value=block_size, known=", ".join(map(str, BLOCK_SIZES)))
    if scale_mode not in MODES:
        raise fail("mx.scale_mode", value=scale_mode, known=", ".join(MODES))


__all__ = ["check", "in_blocks", "quantize"]
