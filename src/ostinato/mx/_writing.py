"""One safetensors file: eight bytes that say how long the head is, the head in JSON, the tensors."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, BinaryIO

import torch

from .._errors import fail

_NAMES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.float8_e8m0fnu: "F8_E8M0",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint64: "U64",
    torch.uint32: "U32",
    torch.uint16: "U16",
    torch.uint8: "U8",
    torch.bool: "BOOL",
    torch.complex64: "C64",
}


def write(path: str | os.PathLike[str], tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
    """Write the file beside ``path``, then give it that name; the order of ``tensors`` does not matter."""
    # The widest first, so that each lies at a multiple of its width.
    names = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    head = _head({name: tensors[name] for name in names}, metadata)
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            file.write(len(head).to_bytes(8, "little") + head)
            for name in names:
                _write_tensor(file, tensors[name])
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _head(tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> bytes:
    said: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    start = 0
    for name, tensor in tensors.items():
        if tensor.dtype not in _NAMES or name == "__metadata__":
            raise fail("mx.save_type", name=name, type=tensor.dtype)
        end = start + tensor.numel() * tensor.element_size()
        said[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
        start = end
    text = json.dumps(said, separators=(",", ":"), ensure_ascii=False).encode()
    return text + b" " * (-len(text) % 8)


def _write_tensor(file: BinaryIO, tensor: torch.Tensor) -> None:
    data = tensor.detach().cpu().resolve_conj().contiguous().reshape(-1)
    file.write(data.view(torch.uint8).numpy().data)


__all__ = ["write"]
