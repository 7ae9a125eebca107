"""The tensors of a written module in one safetensors file, and the function that reads them there."""

from __future__ import annotations

import json
import os
from typing import Any

import torch

from ..._atomic import replacing
from ..._errors import fail

# Names of safetensors for element types; complex numbers are written as pairs (``PAIRS``).
NAMES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
_PLAIN_ALIGNMENT = 8


def write_weights(path: str | os.PathLike[str], tensors: dict[str, torch.Tensor]) -> None:
    """Write the file beside ``path``, then give it that name. DeployError where that cannot be done."""
    head: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    order = sorted(tensors, key=lambda name: -tensors[name].element_size())  # each at a multiple of its width
    for name in order:
        tensor = tensors[name]
        size = tensor.numel() * tensor.element_size()
        head[name] = {
            "dtype": NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [at, at + size],
        }
        at += size
    written = json.dumps(head, separators=(",", ":")).encode()
    written += b" " * (-len(written) % _PLAIN_ALIGNMENT)
    try:
        with replacing(path) as part, open(part, "wb") as file:
            file.write(len(written).to_bytes(8, "little") + written)
            for name in order:
                flat = tensors[name].detach().contiguous().reshape(-1)
                if flat.numel():
                    file.write(flat.view(torch.uint8).numpy().data)
    except OSError as error:
        raise fail("torchscript.unwritable", path=os.fspath(path), reason=error.strerror or error) from None


READER = '''\
def read_weights(path):
    """The tensors of a safetensors file, by name."""
    with open(path, "rb") as file:
        head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = bytearray(file.read())
    head.pop("__metadata__", None)
    return {name: one_weight(data, **entry) for name, entry in head.items()}


def one_weight(data, dtype, shape, data_offsets):
    """One tensor of the file, over its bytes."""
    start, end = data_offsets
    kind = DTYPES[dtype]
    if start == end:
        return torch.empty(shape, dtype=kind)
    count = (end - start) // kind.itemsize
    return torch.frombuffer(data, dtype=kind, count=count, offset=start).reshape(shape)'''
