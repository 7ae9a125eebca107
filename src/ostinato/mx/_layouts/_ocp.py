"""Ours: every format, any shape. ``NAME.qdata`` and ``NAME.scale`` are bytes as ``MXTensor`` keeps them.

The metadata of the file has an entry ``ostinato.mx:NAME`` a tensor, JSON: format,
block_size, shape and dtype; and ``ostinato.mx``, the version of the layout.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import torch

from ..._errors import fail
from .._formats import FORMATS
from .._quantize import BLOCK_SIZES
from .._tensor import MXTensor
from ._layout import Header, Layout, Stored, data

_KEY, _VERSION, _MARK = "ostinato.mx", "1", "ostinato.mx:"
_DTYPES = {
    str(d).removeprefix("torch."): d for d in (torch.float32, torch.float64, torch.bfloat16, torch.float16)
}


def _suits(header: Header) -> bool:
    return _KEY in header.metadata


def _find(header: Header) -> Iterator[Stored]:
    if header.metadata.get(_KEY) != _VERSION:
        raise fail("mx.layout_version", found=header.metadata.get(_KEY), known=_VERSION)
    for key, text in header.metadata.items():
        if key.startswith(_MARK):
            yield _stored(key.removeprefix(_MARK), text)


def _stored(name: str, text: str) -> Stored:
    try:
        said = json.loads(text)
        format, size, dtype = FORMATS[said["format"]], said["block_size"], _DTYPES[said["dtype"]]
        shape = tuple(said["shape"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise fail("mx.file_metadata", name=name) from None
    if type(size) is not int or size not in BLOCK_SIZES or not shape:
        raise fail("mx.file_metadata", name=name)
    if not all(type(n) is int and 0 <= n < 2**62 for n in shape):
        raise fail("mx.file_metadata", name=name)
    return Stored(name, name + ".qdata", name + ".scale", format, shape, size, dtype)


def _split(name: str, tensor: MXTensor) -> dict[str, torch.Tensor]:
    elements, scales = data(tensor)
    return {name + ".qdata": elements, name + ".scale": scales}


def _describe(state: dict[str, Any]) -> dict[str, str]:
    said = {_KEY: _VERSION}
    for name, tensor in state.items():
        if isinstance(tensor, MXTensor):
            about = {
                "format": tensor.format.name,
                "block_size": tensor.block_size,
                "shape": list(tensor.shape),
                "dtype": str(tensor.dtype).removeprefix("torch."),
            }
            said[_MARK + name] = json.dumps(about)
    return said


layout = Layout("ocp", _suits, _find, _split, _describe)

__all__ = ["layout"]
