"""``source``: the Python that ``load`` runs, as text."""

from __future__ import annotations

import os

from ._archive import Archive
from ._program import Program, source_text


def source(path: str | os.PathLike[str]) -> str:
    """The readable Python that `load` runs, without torch and without running it.

    Raises ArchiveError where the file is damaged, unsafe, or uses what is not supported.
    """
    with Archive(path) as archive:
        return source_text(Program(archive))
