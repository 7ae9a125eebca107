"""A file that is written and proven before it takes its place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .._atomic import remove_stale
from .._errors import fail


@contextmanager
def candidate(out: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a file beside ``out``; on a clean exit it becomes ``out``, otherwise it goes.

    What a killed process left of the same target is removed first. DeployError
    where the folder is missing or cannot be written.
    """
    target = Path(os.path.realpath(out))
    _remove_stale(target)
    path = target.with_name(f".{target.name}.{os.getpid()}-candidate.pt2")
    try:
        yield path
        os.replace(path, target)
    except OSError as error:
        raise fail("deployment.unwritable", path=os.fspath(out), reason=error.strerror or error) from error
    finally:
        with suppress(OSError):
            path.unlink()


def check_target(out: str | os.PathLike[str]) -> None:
    """Say at once, and not after minutes of work, that ``out`` cannot be written."""
    if not os.fspath(out).endswith(".pt2"):
        raise fail("export.suffix", path=os.fspath(out))
    check_place(out)


def check_place(out: str | os.PathLike[str]) -> None:
    """The same of a file of any ending."""
    target = Path(os.path.realpath(out))
    if target.is_dir():
        raise fail("deployment.unwritable", path=os.fspath(out), reason="it is a folder")
    if not target.parent.is_dir():
        raise fail("deployment.unwritable", path=os.fspath(out), reason="its folder does not exist")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise fail("deployment.unwritable", path=os.fspath(out), reason="its folder is not writable")


def _remove_stale(target: Path) -> None:
    """Remove candidates, and the part files of candidates, whose process no longer runs."""
    pattern = re.compile(rf"\.{{1,2}}{re.escape(target.name)}\.(\d+)-candidate\.pt2(\.\d+-\d+\.part)?")
    remove_stale(target.parent, pattern)
