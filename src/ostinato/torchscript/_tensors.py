"""Tensors over the archive's storages: mapped from the file where they lie aligned, copied otherwise."""

from __future__ import annotations

import mmap
import zlib
from typing import Any

import torch

from .._errors import fail
from ._archive import Archive
from ._archive_pickle import StorageRef, TensorRef

# torch aligns the storages of its archives to this; its kernels like to find them so.
_ALIGNMENT = 64


class Storages:
    """Makes tensors of references; tensors of one storage share memory, as they did when saved.

    A mapped tensor is private to the process: writing to it changes neither the file nor another load.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._bases: dict[tuple[str, str], torch.Tensor] = {}
        self._map: mmap.mmap | None = None

    def tensor(self, ref: TensorRef, folder: str, name: str) -> torch.Tensor:
        """The tensor that ``ref`` describes, its storage in ``folder`` (``data`` or ``constants``)."""
        if ref.quantized:
            raise fail("torchscript.quantized", path=self._archive.path, what=f"first: {name}")
        base = self._base(ref.storage, folder)
        made = torch.empty(0, dtype=base.dtype)
        made.set_(base.untyped_storage(), ref.offset, ref.size, ref.stride)
        return made

    def _base(self, storage: StorageRef, folder: str) -> torch.Tensor:
        entry = f"{folder}/{storage.key}"
        known = self._bases.get((entry, storage.dtype))
        if known is not None:
            return known
        if entry not in self._archive.entries:
            raise self._archive.damaged(f"the entry {entry!r} is missing")
        size = self._archive.entries[entry].file_size
        if size < storage.numel * storage.itemsize:
            raise self._archive.damaged(f"the entry {entry!r} is shorter than its tensors")
        dtype: torch.dtype = getattr(torch, storage.dtype)
        if size == 0:
            base = torch.empty(0, dtype=dtype)
        else:
            whole = size - size % storage.itemsize
            base = torch.frombuffer(
                self._buffer(entry, size), dtype=dtype, count=whole // storage.itemsize, offset=self._offset
            )
        self._bases[entry, storage.dtype] = base
        return base

    def _buffer(self, entry: str, size: int) -> Any:
        """A writable buffer with the entry's bytes at ``_offset``; their checksum has been compared."""
        start = self._archive.offset(entry)
        if start is None or start % _ALIGNMENT:
            self._offset = 0
            return bytearray(self._archive.read(entry, size))
        if self._map is None:
            with open(self._archive.path, "rb") as stream:
                self._map = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY)
        if len(self._map) < start + size:
            raise self._archive.damaged(f"the entry {entry!r} ends after the file")
        with memoryview(self._map) as view:
            checksum = zlib.crc32(view[start : start + size])
        if checksum != self._archive.entries[entry].CRC:
            raise self._archive.damaged(f"the bytes of the entry {entry!r} have changed")
        self._offset = start
        return self._map
