"""Reads data that people have in files: arrays, tensors, sound, pictures, tables."""

from __future__ import annotations

import io
import os
import re
import wave
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from .._errors import OstinatoError, fail

ENDINGS = (".npz", ".pt", ".wav", ".png", ".csv")
_MOST_BYTES = 4 << 30  # of the arrays of one file: a small one may claim to hold any number
_MOST_PIXELS = 100_000_000
_SEPARATORS = re.compile(r"[,;\t ]+")


@dataclass(frozen=True)
class Content:
    """What one file holds.

    ``kind`` says what ``value`` is: "npz" a dict from name to tensor; "pt" what
    `torch.save` wrote; "wav" float32 [channels, samples] in [-1, 1), sampled
    ``rate`` times a second; "png" uint8 [height, width, 1 to 4]; "csv" float64
    [lines, numbers].
    """

    name: str
    kind: str
    value: Any
    rate: int = 0


def read_all(path: str | os.PathLike[str]) -> list[Content]:
    """The contents of a file, or of the files of a folder in the order of their names.

    UsageError where there is none or one cannot be read.
    """
    place = Path(path)
    if not place.is_dir():
        return [read(place)]
    names = sorted(each for each in os.listdir(place) if each.lower().endswith(ENDINGS))
    if not names:
        raise fail("deployment.no_data", path=os.fspath(path), endings=", ".join(ENDINGS))
    return [read(place / each) for each in names]


def read(path: str | os.PathLike[str]) -> Content:
    """The content of a file. UsageError where it cannot be read."""
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            return content_of(name, file.read())
    except OSError as error:
        raise fail("deployment.data", path=name, reason=error.strerror or error) from error


def content_of(name: str, data: bytes) -> Content:
    """The content of a file's bytes, which say themselves of what kind they are."""
    kind = _kind(data)
    try:
        if kind == "wav":
            sound, rate = _wav(data)
            return Content(name, kind, sound, rate)
        return Content(name, kind, _READERS[kind](data))
    except OstinatoError:
        raise
    except MemoryError:
        raise fail("deployment.data", path=name, reason="it does not fit into memory") from None
    except Exception as error:  # whatever a reader says to a file that is none of its own
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
        reason = f"as {kind} it cannot be read ({type(error).__name__}: {first[:120]})"
        raise fail("deployment.data", path=name, reason=reason) from None


def _kind(data: bytes) -> str:
    if data.startswith(b"RIFF"):
        return "wav"
    if data.startswith(b"\x89PNG"):
        return "png"
    if data.startswith(b"PK"):
        return "npz" if _only_arrays(data) else "pt"
    # What torch.save wrote before its files were zips begins with a pickle's header.
    return "pt" if data.startswith(b"\x80") else "csv"


def _only_arrays(data: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            return all(each.endswith(".npy") for each in file.namelist())
    except zipfile.BadZipFile:
        return False


def _npz(data: bytes) -> dict[str, torch.Tensor]:
    import numpy

    with zipfile.ZipFile(io.BytesIO(data)) as file:
        if sum(each.file_size for each in file.infolist()) > _MOST_BYTES:
            raise ValueError(f"its arrays are larger than {_MOST_BYTES >> 30} GiB")
    with numpy.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return {
            name: torch.from_numpy(numpy.require(arrays[name], requirements=["C", "W"])) for name in arrays
        }


def _pt(data: bytes) -> Any:
    return torch.load(io.BytesIO(data), weights_only=True, map_location="cpu")


def _wav(data: bytes) -> tuple[torch.Tensor, int]:
    with wave.open(io.BytesIO(data)) as file:
        channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
        frames = file.readframes(file.getnframes())
    frames = frames[: len(frames) // (channels * width) * channels * width]
    raw = torch.frombuffer(bytearray(frames), dtype=torch.uint8).reshape(-1, width)
    if width == 1:  # the only width without a sign
        numbers = raw[:, 0].to(torch.float32) - 128
    else:  # little end first; the highest byte has the sign
        numbers = raw[:, -1].view(torch.int8).to(torch.float32)
        for place in range(width - 2, -1, -1):
            numbers = numbers * 256 + raw[:, place].to(torch.float32)
    return (numbers / 2.0 ** (8 * width - 1)).reshape(-1, channels).T.contiguous(), rate


def _png(data: bytes) -> torch.Tensor:
    try:
        from PIL import Image  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise fail("deployment.pillow") from None
    import numpy

    with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
        if image.width * image.height > _MOST_PIXELS:
            raise ValueError(f"it has more than {_MOST_PIXELS:,} pixels")
        plain = image if image.mode in ("L", "LA", "RGB", "RGBA") else image.convert("RGB")
        pixels = torch.from_numpy(numpy.array(plain))
    return pixels if pixels.dim() == 3 else pixels.unsqueeze(-1)


def _csv(data: bytes) -> torch.Tensor:
    lines = [line.strip() for line in data.decode("utf-8-sig").splitlines()]
    rows = [(number, line) for number, line in enumerate(lines, 1) if line]
    if rows and not _is_numbers(rows[0][1]):  # the names of the columns
        del rows[0]
    if not rows:
        raise ValueError("it has no line of numbers")
    table = [_numbers(number, line) for number, line in rows]
    for (number, _), row in zip(rows, table, strict=True):
        if len(row) != len(table[0]):
            raise ValueError(f"line {number} has {len(row)} numbers, the first {len(table[0])}")
    return torch.tensor(table, dtype=torch.float64)


def _is_numbers(line: str) -> bool:
    try:
        _numbers(1, line)
    except ValueError:
        return False
    return True


def _numbers(number: int, line: str) -> list[float]:
    found: Iterable[str] = _SEPARATORS.split(line)
    try:
        return [float(each) for each in found]
    except ValueError:
        raise ValueError(f"line {number} has something else than numbers") from None


_READERS = {"npz": _npz, "pt": _pt, "png": _png, "csv": _csv}

__all__ = ["ENDINGS", "Content", "content_of", "read", "read_all"]
