"""A checkpoint of one or several safetensors files, opened: what it says of itself, and its tensors."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from .._errors import fail
from ._layouts import Entry, Header

_INDEX = "model.safetensors.index.json"
_LARGEST_JSON = 100 << 20  # as safetensors limits the head of a file


class Checkpoint:
    """The files at ``path``, which is one of them, an index of several, or a folder with either.

    Tensors are views of the mapped files: nothing is read before it is used.
    """

    def __init__(self, path: str | os.PathLike[str], tell: Callable[[str], None]) -> None:
        self._open = _safe_open()
        self._where: dict[str, Any] = {}  # of each tensor: its open file
        self._path = Path(path)
        entries: dict[str, Entry] = {}
        metadata: dict[str, str] = {}
        files, expected = _files(self._path)
        for i, file in enumerate(files):
            tell(f"reading {file.name}" + (f" ({i + 1} of {len(files)})" if len(files) > 1 else ""))
            opened, found, said = self._enter(file)
            for name, entry in found.items():
                if expected is None or expected.get(name) == file.name:
                    entries[name], self._where[name] = entry, (opened, file)
            metadata.update(said)
        absent = sorted(set(expected or ()) - set(entries))
        if absent:
            raise fail("mx.file_tensor_missing", path=self._path, name=absent[0], count=len(absent))
        self.header = Header(entries, metadata, _config(files[0].parent))

    def _enter(self, file: Path) -> tuple[Any, dict[str, Entry], dict[str, str]]:
        if not file.is_file():
            raise fail("mx.file_absent", path=file)
        try:
            opened = self._open(file, framework="pt")
            entries = {name: _entry(opened.get_slice(name)) for name in list(opened.keys())}
            metadata = opened.metadata() or {}
        except Exception as error:  # what the reader raises at a bad file is its own affair
            raise fail("mx.file_bad", path=file, why=str(error)) from None
        return opened, entries, metadata

    def tensor(self, name: str) -> torch.Tensor:
        """The tensor of that name as it is stored."""
        opened, file = self._where[name]
        try:
            tensor: torch.Tensor = opened.get_tensor(name)
        except Exception as error:
            raise fail("mx.file_bad", path=file, why=f"{name}: {error}") from None
        return tensor


def _safe_open() -> Any:
    try:
        from safetensors import safe_open
    except ImportError:
        raise fail("mx.no_safetensors") from None
    return safe_open


def _entry(tensor: Any) -> Entry:
    dtype, shape = tensor.get_dtype(), tuple(tensor.get_shape())
    if dtype == "F4" and shape:
        shape = (*shape[:-1], shape[-1] // 2)
    return Entry(dtype, shape)


def _files(path: Path) -> tuple[list[Path], dict[str, str] | None]:
    """The files of a checkpoint and, where an index says so, the file that each tensor is in."""
    if path.is_dir():
        path = path / _INDEX if (path / _INDEX).is_file() else path / "model.safetensors"
    if not path.is_file():
        raise fail("mx.file_absent", path=path)
    if path.suffix != ".json":
        return [path], None
    shards = _json(path).get("weight_map")
    if not isinstance(shards, dict) or not shards:
        raise fail("mx.file_bad", path=path, why="weight_map is not there or empty")
    for shard in shards.values():
        # A name beside the index, and nothing that leads elsewhere on any system.
        if not isinstance(shard, str) or set(shard) & set("/\\:\0") or shard in ("", ".", ".."):
            raise fail("mx.file_outside", path=path, name=shard)
    names = sorted(set(shards.values()))
    absent = [name for name in names if not (path.parent / name).is_file()]
    if absent:
        raise fail("mx.file_shards", path=path, names=", ".join(absent))
    return [path.parent / name for name in names], shards


def _config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    return _json(path) if path.is_file() else {}


def _json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST_JSON:
            raise ValueError("it has more than 100 MiB")
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError, OSError) as error:
        raise fail("mx.file_bad", path=path, why=str(error)) from None
    if not isinstance(found, dict):
        raise fail("mx.file_bad", path=path, why="it is no JSON object")
    return found


__all__ = ["Checkpoint"]
