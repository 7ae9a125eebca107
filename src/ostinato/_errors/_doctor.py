"""Messages of ``doctor``: what: (class, message, hint)."""

from __future__ import annotations

from ._base import OstinatoError, UsageError

MESSAGES: dict[str, tuple[type[OstinatoError], str, str]] = {
    "record": (
        UsageError,
        "{source} is not the record of a machine: {reason}.",
        "write one on that machine with `ostinato doctor --collect > machine.json`",
    ),
    "want": (
        UsageError,
        "{want!r} names neither a version of torch nor a build of it.",
        "write a version (torch==2.9, torch>=2.8,<2.10), a build (cpu, cu126, rocm, xpu), "
        "or both (torch==2.9+cu128)",
    ),
    "log": (
        UsageError,
        "The text of the error cannot be read: {reason}.",
        'pass it as --error "text", or as a file or pipe: `python train.py 2>&1 | ostinato doctor --error -`',
    ),
}
