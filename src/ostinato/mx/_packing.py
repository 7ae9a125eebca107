"""Codes side by side: two of four bits in a byte, the first in the low half; four of six bits in three."""

from __future__ import annotations

import torch

from ._formats import MXFormat


def pack(codes: torch.Tensor, format: MXFormat) -> torch.Tensor:
    """``format.storage`` from codes, uint8; the last size is a multiple of the packed number."""
    if format.bits == 4:
        low, high = codes[..., ::2], codes[..., 1::2]
        return (low | (high << 4)).view(format.storage)
    if format.bits == 6:
        a, b, c, d = codes.unflatten(-1, (-1, 4)).unbind(-1)
        # The codes of the four as one number of 24 bits, the first the lowest, its bytes from the lowest on.
        parts = a | (b << 6), (b >> 2) | (c << 4), (c >> 4) | (d << 2)
        return torch.stack(parts, -1).flatten(-2)
    return codes.view(format.storage)


def unpack(qdata: torch.Tensor, format: MXFormat) -> torch.Tensor:
    """The codes, uint8."""
    data = qdata.view(torch.uint8)
    if format.bits == 4:
        return torch.stack((data & 0xF, data >> 4), -1).flatten(-2)
    if format.bits == 6:
        a, b, c = data.unflatten(-1, (-1, 3)).unbind(-1)
        parts = a & 0x3F, (a >> 6) | ((b & 0xF) << 2), (b >> 4) | ((c & 0x3) << 4), c >> 2
        return torch.stack(parts, -1).flatten(-2)
    return data


__all__ = ["pack", "unpack"]
