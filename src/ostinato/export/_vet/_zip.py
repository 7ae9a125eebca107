"""The container: a zip file whose entries are stored as they are, each once, none outside its folder."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import struct
import zipfile
import zlib
from types import TracebackType
from typing import Any

from ._types import Bad, shown

MAX_ENTRIES = 100_000
MAX_NAME = 512
_PIECE = 1 << 20
_HUGE_PAGE = 2 << 20
# Before an entry: its signature, flags, method, checksum, sizes, and how long its name and extra field are.
_HEADER = struct.Struct("<4s2xHH4xIIIHH")
_SIZES_LATER, _IN_UTF8 = 1 << 3, 1 << 11
_HARMLESS = _SIZES_LATER | _IN_UTF8
_LARGE = 0xFFFFFFFF  # the size is in the extra field
_PART = re.compile(r"[A-Za-z0-9_.\- ]+", re.ASCII)


class Zip:
    """A vetted zip file, open for reading; ``sizes``: name of an entry, less the root → number of bytes."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            total = os.path.getsize(path)
            self._file = zipfile.ZipFile(path)
        except OSError:
            raise
        except Exception as error:
            raise Bad(f"not a zip file, or a damaged one ({type(error).__name__})") from None
        try:
            self._entries = self._vet(self._file.infolist(), total)
        except BaseException:
            self._file.close()
            raise
        self.sizes = {name: entry.file_size for name, entry in self._entries.items()}

    @staticmethod
    def _vet(entries: list[zipfile.ZipInfo], total: int) -> dict[str, zipfile.ZipInfo]:
        if not 0 < len(entries) <= MAX_ENTRIES:
            raise Bad(f"{len(entries)} entries; from 1 to {MAX_ENTRIES} are read")
        root = entries[0].filename.split("/")[0]
        found: dict[str, zipfile.ZipInfo] = {}
        end = 0
        for entry in sorted(entries, key=lambda each: each.header_offset):
            name = entry.filename
            _vet_name(name, root)
            if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size:
                raise Bad(f"the entry {name} is compressed; entries must be stored as they are")
            if entry.flag_bits & 0x1:
                raise Bad(f"the entry {name} is encrypted")
            if entry.header_offset < end:
                raise Bad(f"the entry {name} overlaps another")
            end = entry.header_offset + entry.file_size
            if end > total:
                raise Bad(f"the entry {name} is larger than the file")
            short = name[len(root) + 1 :]
            if short in found:
                raise Bad(f"the entry {name} occurs twice")
            found[short] = entry
        return found

    def read(self, name: str) -> bytearray | mmap.mmap:
        """The bytes of an entry; fresh memory that the caller may keep and change.

        They are read into their place, piece by piece, each piece summed up while
        it is in the caches: a large weight is neither copied nor read twice.
        """
        entry = self._entries[name]
        try:
            content = _memory(entry.file_size)
            view, checksum = memoryview(content), 0
            file = self._at_the_start_of(entry)
            while view:
                count = file.readinto(view[:_PIECE])
                if not count:
                    raise Bad(f"the entry {name} ends too early")
                checksum = zlib.crc32(view[:count], checksum)
                view = view[count:]
        except OSError as error:
            raise Bad(f"the entry {name} cannot be read ({error.strerror})") from None
        if checksum != entry.CRC:
            raise Bad(f"the entry {name} is damaged")
        return content

    def _at_the_start_of(self, entry: zipfile.ZipInfo) -> Any:
        """The file, at the first byte of an entry: after the header that stands before each."""
        file: Any = self._file.fp
        if file is None:
            raise Bad(f"the entry {entry.filename} cannot be read: the file has been closed")
        file.seek(entry.header_offset)
        header = file.read(_HEADER.size)
        if len(header) != _HEADER.size:
            raise Bad(f"the entry {entry.filename} ends too early")
        signature, flags, method, crc, packed, size, name, extra = _HEADER.unpack(header)
        if signature != b"PK\x03\x04" or flags & ~_HARMLESS or method != zipfile.ZIP_STORED:
            raise Bad(f"the entry {entry.filename} has a header of another kind")
        later = flags & _SIZES_LATER or size == _LARGE
        if not later and (crc, packed, size) != (entry.CRC, entry.file_size, entry.file_size):
            raise Bad(f"the entry {entry.filename} has another size or checksum in its own header")
        if file.read(name) != entry.filename.encode():
            raise Bad(f"the entry {entry.filename} has another name in its own header")
        file.seek(extra, 1)
        return file

    def __enter__(self) -> Zip:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _memory(nbytes: int) -> bytearray | mmap.mmap:
    """Memory to read into: for much of it pages of the system's, which a ``bytearray`` would fill with zeros.

    Huge ones where there are: a large weight touches each of its pages once, and most of
    what that costs is the fault.
    """
    if nbytes < _HUGE_PAGE or not hasattr(mmap, "MAP_ANONYMOUS"):
        return bytearray(nbytes)
    pages = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without them
            pages.madvise(mmap.MADV_HUGEPAGE)
    return pages


def _vet_name(name: str, root: str) -> None:
    parts = name.split("/")
    if len(name) > MAX_NAME or len(parts) < 2 or parts[0] != root:
        raise Bad(f"the entry {shown(name)} does not lie in the folder {shown(root)}")
    for part in parts:
        if part in ("", ".", "..") or not _PART.fullmatch(part):
            raise Bad(f"the entry {shown(name)} has a name that no archive needs")
