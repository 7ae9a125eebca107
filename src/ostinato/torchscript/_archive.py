"""The container: a zip file of code, pickles and storages, opened with limits on everything it declares."""

from __future__ import annotations

import os
import zipfile
from types import TracebackType

from .._errors import OstinatoError, fail

MAX_ENTRIES = 200_000
MAX_NAME = 1024
MAX_CODE = 64 << 20
MAX_PICKLE = 16 << 20
# What an archive may unpack to: storages lie uncompressed, and code compresses ten to one at most.
_SLACK = 16 << 20
_RATIO = 20
_LOCAL_HEADER = 30


class Archive:
    """An open archive: ``entries`` maps each name, less the common folder, to its zip entry."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            self.size = os.path.getsize(self.path)
            self._zip = zipfile.ZipFile(self.path)
        except OSError as error:
            raise fail("torchscript.unreadable", path=self.path, reason=error.strerror or error) from None
        except Exception as error:
            # zipfile lets struct.error, UnicodeDecodeError and others through on damaged directories.
            raise self.damaged(f"it is not a zip file, or a damaged one ({type(error).__name__})") from None
        try:
            self.root, self.entries = self._vet(self._zip.infolist())
            self.version = self._version()
        except BaseException:
            self._zip.close()
            raise

    def damaged(self, what: str) -> OstinatoError:
        """The error for a file that contradicts itself or the format."""
        return fail("torchscript.damaged", path=self.path, what=what)

    def _vet(self, infos: list[zipfile.ZipInfo]) -> tuple[str, dict[str, zipfile.ZipInfo]]:
        if not 0 < len(infos) <= MAX_ENTRIES:
            raise self.damaged(f"it has {len(infos)} entries; from 1 to {MAX_ENTRIES} are read")
        declared = sum(info.file_size for info in infos)
        if declared > _SLACK + _RATIO * self.size:
            raise self.damaged(f"its {self.size} bytes claim to hold {declared}")
        root = infos[0].filename.split("/")[0]
        found: dict[str, zipfile.ZipInfo] = {}
        for info in infos:
            name = info.filename
            parts = name.split("/")
            odd = any(part in ("", ".", "..") or not part.isprintable() or "\\" in part for part in parts)
            if odd or len(parts) < 2 or parts[0] != root or len(name) > MAX_NAME:
                raise self.damaged(f"the entry {name[:80]!r} does not lie in the archive's folder")
            short = name[len(root) + 1 :]
            if short in found:
                raise self.damaged(f"the entry {short!r} occurs twice")
            if info.flag_bits & 0x1:
                raise self.damaged(f"the entry {short!r} is encrypted")
            if info.header_offset + info.compress_size > self.size:
                raise self.damaged(f"the entry {short!r} ends after the file")
            found[short] = info
        if "data.pkl" not in found:
            old = "model.json" in found
            raise fail("torchscript.too_old" if old else "torchscript.not_torchscript", path=self.path)
        if "byteorder" in found and self._read(found["byteorder"], 16).strip() != b"little":
            raise self.damaged("its tensors are not stored in little-endian order")
        return root, found

    def _version(self) -> int:
        for name in ("version", ".data/version"):
            if name in self.entries:
                text = self.read(name, 64).decode("ascii", "replace").strip()
                if not text.isdecimal():
                    raise self.damaged(f"its format version is {text!r}")
                return int(text)
        raise self.damaged("it has no format version")

    def read(self, name: str, limit: int) -> bytes:
        """The bytes of an entry, its checksum compared; refused where longer than ``limit``."""
        if name not in self.entries:
            raise self.damaged(f"the entry {name!r} is missing")
        return self._read(self.entries[name], limit)

    def _read(self, info: zipfile.ZipInfo, limit: int) -> bytes:
        if info.file_size > limit:
            raise self.damaged(f"the entry {info.filename!r} has {info.file_size} bytes; {limit} are read")
        try:
            content = self._zip.read(info)
        except Exception as error:
            raise self.damaged(
                f"the entry {info.filename!r} cannot be read ({type(error).__name__})"
            ) from None
        if len(content) != info.file_size:
            raise self.damaged(f"the entry {info.filename!r} ends too early")
        return content

    def text(self, name: str) -> str:
        """The text of an entry of code."""
        try:
            return self.read(name, MAX_CODE).decode("utf-8")
        except UnicodeDecodeError:
            raise self.damaged(f"the entry {name!r} is not text") from None

    def offset(self, name: str) -> int | None:
        """Where the bytes of an entry begin in the file, where they are stored as they are; else None."""
        info = self.entries[name]
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            return None
        with open(self.path, "rb") as stream:
            stream.seek(info.header_offset)
            header = stream.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
            raise self.damaged(f"the entry {name!r} has no header")
        lengths = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        start = info.header_offset + _LOCAL_HEADER + lengths
        if start + info.file_size > self.size:
            raise self.damaged(f"the entry {name!r} ends after the file")
        return start

    def code_files(self) -> list[str]:
        """The names of the entries that hold code, sorted."""
        return sorted(name for name in self.entries if name.startswith("code/") and name.endswith(".py"))

    def close(self) -> None:
        """Closes the file; what was read stays valid."""
        self._zip.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
