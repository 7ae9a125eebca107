"""The files of a code base."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from ..._errors import fail
from ._settings import Settings

PYTHON = frozenset((".py", ".pyi", ".pyw"))
NOTEBOOK = frozenset((".ipynb",))
CPP = frozenset(
    (".c++", ".cc", ".cpp", ".cu", ".cuh", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".mm")
)
_KNOWN = PYTHON | NOTEBOOK | CPP
# Folders of tools, and of what is made or belongs to others.
_SKIPPED = frozenset(
    (".bzr", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox", ".pytest_cache")
    + (
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        "__pycache__",
        "build",
        "dist",
        "node_modules",
        "site-packages",
        "venv",
    )
)


def suffix(path: str) -> str:
    """The ending of a file's name, in small letters."""
    return os.path.splitext(path)[1].lower()


def files(paths: Iterable[str], settings: Settings) -> Iterator[str]:
    """The files below ``paths``, each once and in order; a file that is named, whatever its ending."""
    seen: set[str] = set()
    for path in paths:
        if not os.path.exists(path):
            raise fail("torchscript.lint_path", path=path)
        for each in _below(path, settings) if os.path.isdir(path) else [path]:
            key = os.path.realpath(each)
            if key not in seen:
                seen.add(key)
                yield each


def _below(root: str, settings: Settings) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            name for name in folders if not _is_skipped(os.path.join(folder, name), name, settings)
        )
        for name in sorted(names):
            path = os.path.join(folder, name)
            if suffix(name) in _KNOWN and not settings.excludes(path):
                yield os.path.normpath(path)


def _is_skipped(path: str, name: str, settings: Settings) -> bool:
    # A virtual environment may bear any name.
    environment = os.path.exists(os.path.join(path, "pyvenv.cfg"))
    return name in _SKIPPED or environment or settings.excludes(path)
