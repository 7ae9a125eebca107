"""Tensors over the archive's storages: mapped from the file where they lie aligned, copied otherwise."""

from __future__ import annotations

import mmap
import zlib
from typing import Any

import torch

from .._errors import fail
from ._archive import Archive
from ._archive_data import PACKED_ELEMENTS, Quantizer, SparseRef, StorageRef, TensorRef

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

    def tensor(self, ref: TensorRef | SparseRef, folder: str, name: str) -> torch.Tensor:
        """The tensor that ``ref`` describes, its storage in ``folder`` (``data`` or ``constants``)."""
        try:
            return self._sparse(ref, folder) if isinstance(ref, SparseRef) else self._strided(ref, folder)
        except (RuntimeError, ValueError, TypeError, OverflowError) as error:
            reason = str(error).partition("\n")[0]
            raise fail(
                "torchscript.data", path=self._archive.path, name=name[:200], what=f"is no tensor ({reason})"
            ) from None

    def _strided(self, ref: TensorRef, folder: str) -> torch.Tensor:
        base = self._base(ref.storage, folder)
        if ref.quantizer is None:
            made = torch.empty(0, dtype=base.dtype)
        else:
            made = self._quantized(ref, ref.quantizer, base.dtype, folder)
        made.set_(base.untyped_storage(), ref.offset, ref.size, ref.stride)
        for bit in ref.bits:
            made = torch.conj(made) if bit == "conj" else torch._neg_view(made)
        return made

    def _quantized(self, ref: TensorRef, how: Quantizer, dtype: torch.dtype, folder: str) -> torch.Tensor:
        """An empty tensor with the scales and zero points of ``ref``."""
        make: Any = torch
        if how.scheme == "per_tensor_affine":
            one: torch.Tensor = make._empty_affine_quantized(
                ref.size, scale=how.scale, zero_point=how.zero_point, dtype=dtype
            )
            return one
        scales, zeros = (self._strided(each, folder) for each in (how.scale, how.zero_point))
        many: torch.Tensor = make._empty_per_channel_affine_quantized(
            ref.size, scales=scales, zero_points=zeros, axis=how.axis, dtype=dtype
        )
        return many

    def _sparse(self, ref: SparseRef, folder: str) -> torch.Tensor:
        """A sparse tensor; torch compares its indices with its size."""
        parts = [self._strided(each, folder) for each in ref.parts]
        make: Any = torch.sparse_coo_tensor if ref.layout == "coo" else torch.sparse_csr_tensor
        made: torch.Tensor = make(*parts, ref.size, check_invariants=True)
        return made

    def _base(self, storage: StorageRef, folder: str) -> torch.Tensor:
        entry = f"{folder}/{storage.key}"
        known = self._bases.get((entry, storage.dtype))
        if known is not None:
            return known
        if entry not in self._archive.entries:
            raise self._archive.damaged(f"the entry {entry!r} is missing")
        size = self._archive.entries[entry].file_size
        if size < storage.nbytes:
            raise self._archive.damaged(f"the entry {entry!r} is shorter than its tensors")
        dtype: torch.dtype = getattr(torch, storage.dtype)
        raw = torch.uint8 if storage.dtype in PACKED_ELEMENTS else dtype
        if size == 0:
            base = torch.empty(0, dtype=dtype)
        else:
            whole = size // storage.itemsize
            base = torch.frombuffer(self._buffer(entry, size), dtype=raw, count=whole, offset=self._offset)
            if raw != dtype:  # several elements a byte, which frombuffer does not make
                base = torch.empty(0, dtype=dtype).set_(base.untyped_storage(), 0, (whole,), (1,))
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
