"""Reading one safetensors file, which may be broken or hostile: each tensor into memory of its own.

A file is eight bytes that say how long the head is, the head in JSON, and the tensors,
side by side without gaps. It is never mapped: whoever cuts a mapped file short ends the
processes that read it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from pathlib import Path
from typing import Any

import torch

from .._errors import OstinatoError, fail
from ._layouts import Entry

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "F8_E4M3FNUZ": torch.float8_e4m3fnuz,
    "F8_E5M2FNUZ": torch.float8_e5m2fnuz,
    "F8_E8M0": torch.float8_e8m0fnu,
    "F4": torch.float4_e2m1fn_x2,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U64": torch.uint64,
    "U32": torch.uint32,
    "U16": torch.uint16,
    "U8": torch.uint8,
    "BOOL": torch.bool,
    "C64": torch.complex64,
}
_LARGEST_HEAD = 100_000_000  # as the format has it
_LARGEST = 1 << 62  # bytes of a tensor, so that no product of its sizes overflows in torch
_MOST_SIZES = 64  # of a tensor, more than which torch's loops do not take


@dataclasses.dataclass(frozen=True)
class _Piece:
    """A tensor of the file; ``start`` is counted from the beginning of the file."""

    entry: Entry
    start: int
    nbytes: int


class SafetensorsFile:
    """One open file whose head has been read and found to describe all the rest, each byte once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = open(path, "rb", buffering=0)  # noqa: SIM115 -- `close` closes it
        except OSError as error:
            raise self._bad(error.strerror or str(error)) from None
        try:
            self._pieces, self.metadata = self._described()
        except BaseException:
            self._file.close()
            raise

    @property
    def entries(self) -> dict[str, Entry]:
        """Its tensors, in the order in which they lie."""
        return {name: piece.entry for name, piece in self._pieces.items()}

    def close(self) -> None:
        self._file.close()

    def tensor(self, name: str) -> torch.Tensor:
        """The tensor of that name, read now."""
        piece, dtype = self._pieces[name], self._dtype(name)
        data = self._bytes(piece.start, piece.nbytes)
        if dtype is torch.bool:
            return data.reshape(piece.entry.shape) != 0  # a bool of torch is 0 or 1 and no other byte
        return data.view(dtype).reshape(piece.entry.shape)

    def outline(self, name: str) -> torch.Tensor:
        """Its dtype and shape, on the meta device."""
        return torch.empty(self._pieces[name].entry.shape, dtype=self._dtype(name), device="meta")

    def _dtype(self, name: str) -> torch.dtype:
        said = self._pieces[name].entry.dtype
        if said not in DTYPES:
            raise fail("mx.file_unknown", path=self.path, name=name, dtype=said)
        return DTYPES[said]

    def _bytes(self, start: int, count: int) -> torch.Tensor:
        try:
            data = torch.empty(count, dtype=torch.uint8, device="cpu")
        except RuntimeError:
            raise self._bad(f"there is no memory for {count:,} bytes") from None
        view = data.numpy().data
        try:
            self._file.seek(start)
            while view:
                read = self._file.readinto(view)
                if not read:
                    raise self._bad("it has become shorter")
                view = view[read:]
        except OSError as error:
            raise self._bad(error.strerror or str(error)) from None
        return data

    def _described(self) -> tuple[dict[str, _Piece], dict[str, str]]:
        size = os.fstat(self._file.fileno()).st_size
        length = int.from_bytes(self._bytes(0, min(size, 8)).numpy().tobytes(), "little")
        if size < 8 or length > min(size - 8, _LARGEST_HEAD):
            raise self._bad("it is shorter than its first bytes say")
        text = self._bytes(8, length).numpy().tobytes()
        try:
            if not text.startswith(b"{"):
                raise ValueError("its head is no JSON object")
            head = json.loads(text.decode(), object_pairs_hook=_once)
            metadata = _metadata(head.pop("__metadata__", {}))
            pieces = {name: _piece(name, about) for name, about in head.items()}
            return _side_by_side(pieces, 8 + length, size), metadata
        except (ValueError, RecursionError) as error:
            raise self._bad(str(error)) from None

    def _bad(self, why: str) -> OstinatoError:
        return fail("mx.file_bad", path=self.path, why=why)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    "".join(found).encode()  # a name can be printed and written again: it holds no half of a surrogate
    if len(found) != len(pairs):
        raise ValueError("its head has a name twice")
    return found


def _metadata(found: Any) -> dict[str, str]:
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise ValueError("its metadata are not all text")
    return found


def _piece(name: str, about: Any) -> _Piece:
    """What the head says of a tensor; ``start`` is still counted from the end of the head."""
    try:
        dtype, shape, (start, end) = about["dtype"], tuple(about["shape"]), about["data_offsets"]
        numbers = [*shape, start, end]
        sound = isinstance(dtype, str) and all(type(n) is int and 0 <= n < _LARGEST for n in numbers)
        sound = sound and len(shape) <= _MOST_SIZES and math.prod(max(n, 1) for n in shape) * 8 < _LARGEST
    except (TypeError, KeyError, ValueError):
        sound = False
    if not sound:
        raise ValueError(f"its head does not describe {name!r} as a tensor")
    if dtype == "F4":
        if not shape or shape[-1] % 2:
            raise ValueError(f"a row of {name!r} is no whole number of bytes")
        shape = (*shape[:-1], shape[-1] // 2)
    width = DTYPES[dtype].itemsize if dtype in DTYPES else None
    if width is not None and math.prod(shape) * width != end - start:
        raise ValueError(f"{name!r} has {end - start:,} bytes, which is not what its shape needs")
    return _Piece(Entry(dtype, shape), start, end - start)


def _side_by_side(pieces: dict[str, _Piece], start: int, size: int) -> dict[str, _Piece]:
    """The pieces in their order, if each begins where the one before ends and the last ends the file."""
    placed = {}
    position = start
    for name, piece in sorted(pieces.items(), key=lambda item: (item[1].start, item[1].nbytes)):
        if start + piece.start != position or piece.nbytes < 0:
            raise ValueError(f"{name!r} does not begin where the tensor before it ends")
        placed[name] = dataclasses.replace(piece, start=position)
        position += piece.nbytes
    if position != size:
        raise ValueError(f"its tensors end at byte {position:,}, and the file has {size:,}")
    return placed


__all__ = ["DTYPES", "SafetensorsFile"]
