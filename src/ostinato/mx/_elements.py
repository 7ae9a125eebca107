"""Elements: from numbers to codes of a few bits and back."""

from __future__ import annotations

import torch

from ._formats import MXFormat


def encode(x: torch.Tensor, format: MXFormat) -> torch.Tensor:
    """Codes, uint8, of finite numbers: rounded to the nearest, the even one of two, and saturated."""
    if format.integer:
        steps = torch.round(x * 2.0**format.mantissa_bits)
        return steps.clamp(-format.largest_code, format.largest_code).to(torch.int8).view(torch.uint8)
    size = x.abs().clamp(max=2 * format.largest)
    exponent = torch.frexp(size).exponent.to(torch.int32) - 1
    least = 1 - format.bias
    exponent = torch.where(size == 0, least, exponent.clamp(min=least))
    # The unit in the last place is 2^(exponent - mantissa_bits), exact in each dtype.
    steps = torch.round(torch.ldexp(size, format.mantissa_bits - exponent)).to(torch.int32)
    code = (((exponent - least) << format.mantissa_bits) + steps).clamp(max=format.largest_code)
    return (code | (torch.signbit(x).to(torch.int32) << (format.bits - 1))).to(torch.uint8)


def decode(codes: torch.Tensor, format: MXFormat) -> torch.Tensor:
    """What codes, uint8, stand for, float32; of fp8 also its NaN and infinities."""
    if format.integer:
        return codes.view(torch.int8).float() * 2.0**-format.mantissa_bits
    if format.bits == 8:
        return codes.view(format.storage).float()
    size = (codes & ((1 << (format.bits - 1)) - 1)).to(torch.int32)
    exponent, mantissa = size >> format.mantissa_bits, size & ((1 << format.mantissa_bits) - 1)
    steps = mantissa + ((exponent > 0).to(torch.int32) << format.mantissa_bits)
    x = torch.ldexp(steps.float(), exponent.clamp(min=1) - (format.bias + format.mantissa_bits))
    return torch.where(codes >> (format.bits - 1) != 0, -x, x)


__all__ = ["decode", "encode"]
