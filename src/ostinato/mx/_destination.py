"""Where a converted checkpoint goes: one file for one file, a folder with an index for several."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .._atomic import replacing
from .._errors import fail
from ._checkpoint import INDEX, Checkpoint

_ALONE = "model.safetensors"  # of a folder without an index


def targets_of(checkpoint: Checkpoint, out: Path) -> list[Path]:
    """The file to write for each that is read, never one of these; their folder is made."""
    if checkpoint.several:
        targets = [out / file.path.name for file in checkpoint.files]
        _prepare(out, {target.name for target in targets})
    elif out.suffix != ".safetensors":
        raise fail("mx.out_suffix", path=out)
    else:
        targets = [out]
    for target in targets:
        if any(target.exists() and target.samefile(file.path) for file in checkpoint.files):
            raise fail("mx.out_same", path=target)
    return targets


def write_index(folder: Path, places: dict[str, str], targets: list[Path]) -> None:
    """The index of files that are written; ``places`` says which each tensor is in."""
    if [target.name for target in targets] == [_ALONE]:
        return
    size = sum(target.stat().st_size for target in targets)
    index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(places.items()))}
    with _writable(folder), replacing(folder / INDEX) as part:
        part.write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


def _prepare(folder: Path, names: set[str]) -> None:
    """Make the folder; it may hold an earlier run's files, and no other checkpoint's."""
    with _writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        written = names if names == {_ALONE} else {*names, INDEX}
        others = sorted(each.name for each in folder.glob("*.safetensors*") if each.name not in written)
    if others:
        raise fail("mx.out_folder", path=folder, name=others[0])


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise fail("mx.unwritable", path=path, reason=error.strerror or error) from None


__all__ = ["targets_of", "write_index"]
