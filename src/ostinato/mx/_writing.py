"""One safetensors file: eight bytes that say how long the head is, the head in JSON, the tensors."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

import torch

from .._atomic import replacing
from .._errors import fail
from ._reading import DTYPES

_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def write(path: str | os.PathLike[str], tensors: dict[str, torch.Tensor], metadata: dict[str, str]) -> None:
    """Write the file beside ``path``, then give it that name; the order of ``tensors`` does not matter."""
    with writing(path, tensors, metadata) as put:
        for name, tensor in tensors.items():
            put(name, tensor)


@contextmanager
def writing(
    path: str | os.PathLike[str], tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str]
) -> Iterator[Callable[[str, torch.Tensor], None]]:
    """The same one tensor at a time: give a function that each name and tensor is passed to once.

    They may come in any order. Of ``tensors``, dtypes and shapes are used, so that they may be on the
    meta device.
    """
    # The widest first, so that each lies at a multiple of its width.
    names = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    head, starts = _head({name: tensors[name] for name in names}, metadata)
    try:
        with replacing(path) as part, open(part, "wb") as file:
            file.write(len(head).to_bytes(8, "little") + head)

            def put(name: str, tensor: torch.Tensor) -> None:
                file.seek(8 + len(head) + starts[name])
                _write_tensor(file, tensor)

            yield put
    except OSError as error:
        raise fail("mx.unwritable", path=os.fspath(path), reason=error.strerror or error) from None


def _head(tensors: dict[str, torch.Tensor], metadata: Mapping[str, str]) -> tuple[bytes, dict[str, int]]:
    """The head, and where each tensor starts after it."""
    said: dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    starts, start = {}, 0
    for name, tensor in tensors.items():
        if tensor.dtype not in _NAMES or name == "__metadata__":
            raise fail("mx.save_type", name=name, type=tensor.dtype)
        starts[name], end = start, start + tensor.numel() * tensor.element_size()
        shape = list(tensor.shape)
        if tensor.dtype is torch.float4_e2m1fn_x2 and shape:
            shape[-1] *= 2  # in the file, sizes count numbers
        said[name] = {"dtype": _NAMES[tensor.dtype], "shape": shape, "data_offsets": [start, end]}
        start = end
    text = json.dumps(said, separators=(",", ":"), ensure_ascii=False).encode()
    return text + b" " * (-len(text) % 8), starts


def _write_tensor(file: BinaryIO, tensor: torch.Tensor) -> None:
    data = tensor.detach().cpu().resolve_conj().contiguous().reshape(-1)
    file.write(data.view(torch.uint8).numpy().data)


__all__ = ["write", "writing"]
