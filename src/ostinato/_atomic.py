"""A file is either the old one or the whole new one, whatever happens in between."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_serial = itertools.count()


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a part file to write; on a clean exit it becomes ``path``, otherwise it goes.

    The part file lies beside the target (one file system, so the last step is a
    rename), bears the process's id, and is flushed to the disk before the
    rename. Part files that a dead process left for the same target are removed
    first.
    """
    target = Path(os.path.realpath(path))
    remove_stale_parts(target)
    part = target.with_name(f".{target.name}.{os.getpid()}-{next(_serial)}.part")
    try:
        yield part
        _flush(part)
        os.replace(part, target)
        _flush(target.parent)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


def remove_stale_parts(target: Path) -> None:
    """Remove the part files of ``target`` whose process no longer runs."""
    remove_stale(target.parent, re.compile(rf"\.{re.escape(target.name)}\.(\d+)-\d+\.part"))


def remove_stale(folder: Path, pattern: re.Pattern[str]) -> None:
    """Remove the files of ``folder`` that match ``pattern``; its first group is the id of a dead process."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return
    for name in names:
        match = pattern.fullmatch(name)
        if match and not runs(int(match[1])):
            with suppress(FileNotFoundError):
                os.unlink(folder / name)


def runs(pid: int) -> bool:
    """Whether there is a process of that id, as far as can be told."""
    if os.name == "nt":  # signal 0 would end the process there
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _flush(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:  # a folder cannot be opened on every system; the rename is done all the same
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
