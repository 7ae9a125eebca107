"""gpt-oss: mxfp4, ``NAME_blocks`` of (..., G, 16) and ``NAME_scales`` of (..., G), both uint8.

The files of transformers put an underscore before ``blocks``, OpenAI's own a dot. A
tensor is (experts, out, in), as its blocks lie; transformers' modules transpose it.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from .._formats import mxfp4
from .._tensor import MXTensor
from ._layout import Header, Layout, Stored, data, whole


def _find(header: Header) -> Iterator[Stored]:
    for mark in "_.":
        for stem, blocks, scales in header.pairs(mark + "blocks", mark + "scales"):
            entry = header.entries[blocks]
            if entry.dtype == "U8" and len(entry.shape) >= 2 and entry.shape[-1] == 16:
                shape = (*entry.shape[:-2], entry.shape[-2] * 32)
                yield Stored(stem, blocks, scales, mxfp4, shape)


def _suits(header: Header) -> bool:
    return any(True for _ in _find(header))


def _split(name: str, tensor: MXTensor) -> dict[str, torch.Tensor] | None:
    if tensor.format is not mxfp4 or not whole(tensor):
        return None
    elements, scales = data(tensor)
    return {name + "_blocks": elements.reshape(*scales.shape, 16), name + "_scales": scales}


layout = Layout("gpt-oss", _suits, _find, _split)

__all__ = ["layout"]
