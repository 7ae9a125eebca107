"""One safetensors file: eight bytes that say how long the head is, the head in JSON, the tensors."""

from __future__ import annotations

import json
import os
from typing import Any, BinaryIO

import torch

from .._atomic import replacing
from .._errors import fail
from ._reading import DTYPES

_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def write(path: str | os.PathLike[str], tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
    """Write the file beside ``path``, then give it that name; the order of ``tensors`` does not matter."""
    # The widest first, so that each lies at a multiple of its width.
    names = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    head = _head({name: tensors[name] for name in names}, metadata)
    with replacing(path) as part, open(part, "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for name in names:
            _write_tensor(file, tensors[name])


def _head(tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> bytes:
    said: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    start = 0
    for name, tensor in tensors.items():
        if tensor.dtype not in _NAMES or name == "__metadata__":
            raise fail("mx.save_type", name=name, type=tensor.dtype)
        end = start + tensor.numel() * tensor.element_size()
        shape = list(tensor.shape)
        if tensor.dtype is torch.float4_e2m1fn_x2 and shape:
            shape[-1] *= 2  # in the file, sizes count numbers
        said[name] = {"dtype": _NAMES[tensor.dtype], "shape": shape, "data_offsets": [start, end]}
        start = end
    text = json.dumps(said, separators=(",", ":"), ensure_ascii=False).encode()
    return text + b" " * (-len(text) % 8)


def _write_tensor(file: BinaryIO, tensor: torch.Tensor) -> None:
    data = tensor.detach().cpu().resolve_conj().contiguous().reshape(-1)
    file.write(data.view(torch.uint8).numpy().data)


__all__ = ["write"]
