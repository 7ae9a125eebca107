"""From what a file stores to an ``MXTensor``, all sizes checked first."""

from __future__ import annotations

import math

import torch

from .._errors import fail
from ._checkpoint import Checkpoint
from ._layouts import Entry, Stored
from ._tensor import MXTensor

_BYTES = {"U8", "I8", "F4", "F8_E4M3", "F8_E5M2", "F8_E8M0"}
_TOO_LARGE = 2**59  # numbers of which torch cannot count the bytes


def assemble(checkpoint: Checkpoint, stored: Stored, dtype: torch.dtype) -> MXTensor:
    """The tensor that ``stored`` says, on the memory of the file where that is laid out as ours."""
    entries = checkpoint.header.entries
    _check(stored, entries[stored.elements], entries[stored.scales])
    blocks = -(-stored.shape[-1] // stored.block_size)
    elements = _rows(checkpoint.tensor(stored.elements), stored.shape[:-1], stored.row)
    elements = _filled(elements, stored.row_of_blocks)
    scales = checkpoint.tensor(stored.scales).view(torch.uint8)
    if stored.rows > 1:
        scales = scales.repeat_interleave(stored.rows, -2).narrow(-2, 0, stored.shape[-2])
    scales = _rows(scales, stored.shape[:-1], blocks)
    return MXTensor(
        elements.view(stored.format.storage),
        scales.view(torch.float8_e8m0fnu),
        stored.format,
        stored.shape,
        stored.block_size,
        stored.dtype or dtype,
    )


def _check(stored: Stored, elements: Entry, scales: Entry) -> None:
    *outer, last = stored.shape
    if math.prod(max(n, 1) for n in (*outer, last + stored.block_size)) >= _TOO_LARGE:
        raise fail("mx.file_shape", name=stored.name, shape=list(stored.shape), expected="less numbers")
    blocks = -(-last // stored.block_size)
    if stored.rows > 1:
        outer[-1] = -(-outer[-1] // stored.rows)
    for name, entry in ((stored.elements, elements), (stored.scales, scales)):
        if entry.dtype not in _BYTES:
            raise fail("mx.file_dtype", name=name, dtype=entry.dtype)
    if scales.shape != (*outer, blocks):
        expected = [*outer, blocks]
        raise fail("mx.file_shape", name=stored.scales, shape=list(scales.shape), expected=expected)
    sizes = {stored.row, stored.row_of_blocks}
    flat = (*elements.shape[:-2], elements.shape[-2] * elements.shape[-1]) if len(elements.shape) > 1 else ()
    if not any(shape == (*stored.shape[:-1], n) for shape in (elements.shape, flat) for n in sizes):
        expected = [*stored.shape[:-1], stored.row]
        raise fail("mx.file_shape", name=stored.elements, shape=list(elements.shape), expected=expected)


def _rows(tensor: torch.Tensor, outer: tuple[int, ...], row: int) -> torch.Tensor:
    return tensor.view(torch.uint8).reshape(*outer, -1 if 0 not in outer else row)


def _filled(elements: torch.Tensor, row: int) -> torch.Tensor:
    """Rows filled up with zeros to whole blocks."""
    lacking = row - elements.shape[-1]
    return torch.nn.functional.pad(elements, (0, lacking)) if lacking else elements


__all__ = ["assemble"]
