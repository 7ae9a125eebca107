"""torchao: ``MODULE._PARAMETER_qdata`` and ``MODULE._PARAMETER_scale``, described by JSON in the metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import torch

from ..._errors import fail
from .._formats import MXFormat, mxfp4, mxfp8_e4m3, mxfp8_e5m2
from .._quantize import BLOCK_SIZES
from .._tensor import MXTensor
from ._layout import Header, Layout, Stored, whole

_FORMATS: dict[str, MXFormat] = {
    str(f.storage).removeprefix("torch."): f for f in (mxfp4, mxfp8_e4m3, mxfp8_e5m2)
}
_DTYPES = {str(d).removeprefix("torch."): d for d in (torch.float32, torch.bfloat16, torch.float16)}


def _suits(header: Header) -> bool:
    return "tensor_names" in header.metadata


def _find(header: Header) -> Iterator[Stored]:
    for name, text in header.metadata.items():
        said = _parsed(text)
        if said.get("_type") == "MXTensor":
            yield _stored(header, name, said.get("_data"))


def _parsed(text: str) -> dict[str, Any]:
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _stored(header: Header, name: str, said: Any) -> Stored:
    try:
        format, dtype = _FORMATS[said["elem_dtype"]["_data"]], _DTYPES[said["orig_dtype"]["_data"]]
        size, swizzled = said["block_size"], said["is_swizzled_scales"]
        qdata, scale = _names(name)
        stored = header.entries[qdata].shape
    except (KeyError, TypeError):
        raise fail("mx.file_metadata", name=name) from None
    if type(size) is not int or size not in BLOCK_SIZES or swizzled is not False or not stored:
        raise fail("mx.file_metadata", name=name)
    shape = (*stored[:-1], stored[-1] * format.packed[0])
    return Stored(name, qdata, scale, format, shape, size, dtype)


def _names(name: str) -> tuple[str, str]:
    module, _, parameter = name.rpartition(".")
    return f"{module}._{parameter}_qdata", f"{module}._{parameter}_scale"


def _split(name: str, tensor: MXTensor) -> dict[str, torch.Tensor] | None:
    described = tensor.format in _FORMATS.values() and str(tensor.dtype).removeprefix("torch.") in _DTYPES
    if not described or not whole(tensor, tensor.block_size) or "." not in name:
        return None
    elements = tensor.qdata.view(torch.uint8) if tensor.format is mxfp4 else tensor.qdata
    return dict(zip(_names(name), (elements, tensor.scale), strict=True))


def _describe(state: dict[str, Any]) -> dict[str, str]:
    said = {name: json.dumps(_about(tensor)) for name, tensor in state.items()}
    return said | {"tensor_names": json.dumps(list(state))}


def _about(tensor: Any) -> dict[str, Any]:
    if not isinstance(tensor, MXTensor):
        return {"_type": "Tensor"}
    attributes = {
        "elem_dtype": _dtype(tensor.format.storage),
        "block_size": tensor.block_size,
        "orig_dtype": _dtype(tensor.dtype),
        "kernel_preference": {"_type": "KernelPreference", "_data": "EMULATED"},
        "act_quant_kwargs": None,
        "is_swizzled_scales": False,
    }
    return {"_type": "MXTensor", "_data": attributes, "_tensor_data_names": ["qdata", "scale"]}


def _dtype(dtype: torch.dtype) -> dict[str, str]:
    return {"_type": "torch.dtype", "_data": str(dtype).removeprefix("torch.")}


layout = Layout("torchao", _suits, _find, _split, _describe)

__all__ = ["layout"]
