"""compressed-tensors: ``mxfp4-pack-quantized``, ``mxfp6-pack-quantized`` and ``mxfp8-quantized``.

``NAME.weight_packed``, uint8, or ``NAME.weight``, float8_e4m3fn, beside ``NAME.weight_scale``, uint8.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from ..._errors import fail
from .._formats import MXFormat, mxfp4, mxfp6_e2m3, mxfp8_e4m3
from .._tensor import MXTensor
from ._layout import SCALES, Entry, Header, Layout, Stored, data, whole

# With one of these, numbers are more than elements times scales.
_MORE = (".weight_zero_point", ".weight_global_scale")


def _find(header: Header) -> Iterator[Stored]:
    for stem, packed, scale in header.pairs(".weight_packed", ".weight_scale"):
        entry, scales = header.entries[packed], header.entries[scale]
        if entry.dtype == "U8" and scales.dtype in SCALES and entry.shape and scales.shape:
            format = _packed(header, entry, scales)
            numbers, size = format.packed
            shape = (*entry.shape[:-1], entry.shape[-1] // size * numbers)
            yield _plain(header, stem, Stored(stem + ".weight", packed, scale, format, shape))
    for stem, weight, scale in header.pairs(".weight", ".weight_scale"):
        entry, scales = header.entries[weight], header.entries[scale]
        if entry.dtype == "F8_E4M3" and scales.dtype in SCALES and entry.shape:
            yield _plain(header, stem, Stored(stem + ".weight", weight, scale, mxfp8_e4m3, entry.shape))


def _packed(header: Header, entry: Entry, scales: Entry) -> MXFormat:
    """By the bytes of a block: 16 or 24."""
    return mxfp6_e2m3 if 0 < entry.shape[-1] == 24 * scales.shape[-1] else mxfp4


def _plain(header: Header, stem: str, stored: Stored) -> Stored:
    for suffix in _MORE:
        if stem + suffix in header.entries:
            raise fail("mx.file_more", name=stored.name, other=stem + suffix)
    return stored


def _suits(header: Header) -> bool:
    if header.quantization.get("quant_method") == "compressed-tensors":
        return True
    return any(True for _ in _find(header))


def _split(name: str, tensor: MXTensor) -> dict[str, torch.Tensor] | None:
    if tensor.format not in (mxfp4, mxfp6_e2m3, mxfp8_e4m3) or not whole(tensor):
        return None
    if not name.endswith(".weight"):
        return None
    elements, scales = data(tensor)
    if tensor.format is mxfp8_e4m3:
        return {name: elements.view(torch.float8_e4m3fn), name + "_scale": scales}
    return {name + "_packed": elements, name + "_scale": scales}


layout = Layout("compressed-tensors", _suits, _find, _split)

__all__ = ["layout"]
