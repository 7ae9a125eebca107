"""DeepSeek V4: ``NAME.weight`` beside ``NAME.scale`` (or ``NAME.weight_scale_inv``) in e8m0.

Experts are mxfp4, int8 of (out, in / 2), with a scale for 32 numbers of a row. Other
layers are float8_e4m3fn with a scale for a square of numbers, 128 by 128: read as
blocks of a row, each row with its own copy of the scales. Scales in float32, as in the
files of V3, are no MX and are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from .._formats import MXFormat, format_of, mxfp4, mxfp8_e4m3
from .._tensor import MXTensor
from ._layout import ELEMENTS, SCALES, Entry, Header, Layout, Stored, data, whole

_SUFFIXES = (".scale", ".weight_scale_inv")


def _find(header: Header) -> Iterator[Stored]:
    for suffix in _SUFFIXES:
        for stem, weight, scale in header.pairs(".weight", suffix):
            entry, scales = header.entries[weight], header.entries[scale]
            if scales.dtype in SCALES and len(entry.shape) >= 2 and len(scales.shape) == len(entry.shape):
                yield from _stored(stem + ".weight", (weight, scale), entry, scales)


def _stored(name: str, where: tuple[str, str], entry: Entry, scales: Entry) -> Iterator[Stored]:
    if entry.dtype in ("I8", "U8", "F4"):
        yield Stored(name, *where, mxfp4, (*entry.shape[:-1], entry.shape[-1] * 2))
    elif entry.dtype in ELEMENTS:
        rowwise = scales.shape[-2:] == (entry.shape[-2], -(-entry.shape[-1] // 32))
        side, rows = (32, 1) if rowwise else (_side(entry, scales),) * 2
        yield Stored(name, *where, format_of(ELEMENTS[entry.dtype]), entry.shape, side, rows=rows)


def _side(entry: Entry, scales: Entry) -> int:
    """Of the squares; 128 where none fits, which the reader then says."""
    sizes = [n for n in (128, 64, 32) if [-(-k // n) for k in entry.shape[-2:]] == list(scales.shape[-2:])]
    return sizes[0] if sizes else 128


def _suits(header: Header) -> bool:
    return any(True for _ in _find(header))


def _split(name: str, tensor: MXTensor) -> dict[str, torch.Tensor] | None:
    stored: dict[MXFormat, torch.dtype] = {mxfp4: torch.int8, mxfp8_e4m3: torch.float8_e4m3fn}
    if tensor.format not in stored or not whole(tensor) or not name.endswith(".weight"):
        return None
    elements, scales = data(tensor)
    scale = name.removesuffix(".weight") + ".scale"
    return {name: elements.view(stored[tensor.format]), scale: scales.view(torch.float8_e8m0fnu)}


layout = Layout("deepseek", _suits, _find, _split)

__all__ = ["layout"]
