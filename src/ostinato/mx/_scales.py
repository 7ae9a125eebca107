"""Shared scales: a power of two a block, kept as its biased exponent in a byte (e8m0)."""

from __future__ import annotations

import math

import torch

from ._formats import MXFormat

BIAS, NAN = 127, 255
MODES = ("floor", "even", "ceil", "rceil")


def exponents(amax: torch.Tensor, format: MXFormat, mode: str) -> torch.Tensor:
    """The exponent of each block's scale, int32, from the block's largest magnitude, which is finite.

    ``floor`` is the specification's: the exponent of the largest power of two in the
    block, less that of the largest one in an element. ``even`` first rounds ``amax`` to
    the element's digits, ``ceil`` up to a power of two. ``rceil`` takes the least scale
    that saturates no element.
    """
    mantissa, exponent = torch.frexp(amax)  # amax = mantissa 2^exponent, mantissa in [1/2, 1)
    e = exponent.to(torch.int32) - 1 - format.largest_exponent
    if mode == "even":
        e = e + (mantissa >= 1 - 2.0 ** -(format.mantissa_bits + 2))
    elif mode == "ceil":
        e = e + (mantissa > 0.5)
    elif mode == "rceil":
        e = e + (mantissa > math.frexp(format.largest)[0])
    return torch.where(amax == 0, -BIAS, e.clamp(-BIAS, BIAS))


def to_bytes(exponent: torch.Tensor, bad: torch.Tensor) -> torch.Tensor:
    """Scales as float8_e8m0fnu; those of ``bad`` blocks are NaN."""
    biased = torch.where(bad, NAN, exponent + BIAS)
    return biased.to(torch.uint8).view(torch.float8_e8m0fnu)


def scaled(x: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    """``x * 2 ** exponent`` in two products, so that no power is denormal; rounded once, if at all."""
    half = torch.div(exponent, 2, rounding_mode="floor")
    return x * _power(half, x.dtype) * _power(exponent - half, x.dtype)


def _power(exponent: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """2 ** exponent from its bits, for a normal number."""
    if dtype is torch.float64:
        return ((exponent.to(torch.int64) + 1023) << 52).view(torch.float64)
    return ((exponent.to(torch.int32) + 127) << 23).view(torch.float32)


__all__ = ["BIAS", "MODES", "NAN", "exponents", "scaled", "to_bytes"]
