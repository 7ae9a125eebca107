"""What kind of file a path names. Imports no torch, and reads no more than the names in the file."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

from .._errors import fail


def file_kind(path: str | os.PathLike[str]) -> str:
    """``"pt2"`` or ``"torchscript"``.

    Raises ArchiveError where the path is missing, is a folder, cannot be
    opened, or names a file that is neither; the readers then check the rest.
    """
    readable(path)
    name = os.fspath(path)
    try:
        with zipfile.ZipFile(path) as file:
            names = [each.split("/", 1)[-1] for each in file.namelist()]
    except Exception as error:
        # zipfile lets struct.error and others through on damaged files.
        with open(path, "rb") as handle:
            empty = not handle.read(1)
        reason = (
            "it is empty" if empty else f"it is not a zip file, or a damaged one ({type(error).__name__})"
        )
        raise fail("deployment.no_archive", path=name, reason=reason) from None
    if any(each.startswith("models/") and each.endswith(".json") for each in names):
        return "pt2"
    if any(each.startswith("code/") for each in names) or "constants.pkl" in names or "model.json" in names:
        return "torchscript"
    if "data.pkl" in names:
        raise fail("deployment.weights_alone", path=name)
    raise fail("deployment.no_archive", path=name, reason="it holds no program")


def readable(path: str | os.PathLike[str]) -> None:
    """ArchiveError where the path cannot be opened as a file."""
    if Path(path).is_dir():
        raise fail("deployment.folder", path=os.fspath(path))
    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise fail("deployment.unreadable", path=os.fspath(path), reason=error.strerror or error) from None
