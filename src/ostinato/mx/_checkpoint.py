"""A checkpoint of one or several safetensors files, opened: what it says of itself, and its tensors."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from .._errors import fail
from ._layouts import Entry, Header
from ._reading import SafetensorsFile

INDEX = "model.safetensors.index.json"
_LARGEST_JSON = 100 << 20  # as safetensors limits the head of a file


class Checkpoint:
    """The files at ``path``, which is one of them, an index of several, or a folder with either.

    They are open until ``close``, or the end of a ``with``; a tensor is read when it is asked for.

    Attributes:
        header: what is known of all files together.
        files: the files, in their order.
        several: whether ``path`` stands for any number of files.
    """

    def __init__(self, path: str | os.PathLike[str], tell: Callable[[str], None]) -> None:
        self._open = ExitStack()
        self._where: dict[str, SafetensorsFile] = {}  # by the name of a tensor
        path = Path(path)
        files, expected = _files(path)
        self.files: list[SafetensorsFile] = []
        self.several = path.is_dir() or expected is not None
        entries: dict[str, Entry] = {}
        metadata: dict[str, str] = {}
        try:
            for i, each in enumerate(files):
                tell(f"reading {each.name}" + (f" ({i + 1} of {len(files)})" if len(files) > 1 else ""))
                file = SafetensorsFile(each)
                self._open.callback(file.close)
                self.files.append(file)
                for name, entry in file.entries.items():
                    if expected is None or expected.get(name) == each.name:
                        entries[name], self._where[name] = entry, file
                metadata.update(file.metadata)
            absent = sorted(set(expected or ()) - set(entries))
            if absent:
                raise fail("mx.file_tensor_missing", path=path, name=absent[0], count=len(absent))
            self.header = Header(entries, metadata, _config(files[0].parent))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._open.close()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def names(self, file: SafetensorsFile) -> list[str]:
        """The tensors that are read from one of the files, in the order in which they lie there."""
        return [name for name in file.entries if self._where.get(name) is file]

    def tensor(self, name: str) -> torch.Tensor:
        """The tensor of that name as it is stored."""
        return self._where[name].tensor(name)


def _files(path: Path) -> tuple[list[Path], dict[str, str] | None]:
    """The files of a checkpoint and, where an index says so, the file that each tensor is in."""
    if path.is_dir():
        path = path / INDEX if (path / INDEX).is_file() else path / "model.safetensors"
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


__all__ = ["INDEX", "Checkpoint"]
