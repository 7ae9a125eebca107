"""TorchScript archives as ordinary Python: looked at, read and run without ``torch.jit``.

Everything is imported when it is first used: ``inspect`` works without torch, ``lint`` reads no archive and
starts in milliseconds, ``load`` and ``source`` bring torch in.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..deployment._archive import convert as convert
    from ._archive_info import (
        ArchiveInfo as ArchiveInfo,
        TensorInfo as TensorInfo,
        inspect as inspect,
    )
    from ._lint import Finding as Finding, lint as lint
    from ._load import load as load
    from ._signature import (
        constants as constants,
        signature as signature,
    )
    from ._source import source as source

# name -> the module beside this one that holds it
_LAZY = {
    "ArchiveInfo": "_archive_info",
    "Finding": "_lint",
    "TensorInfo": "_archive_info",
    "constants": "_signature",
    "convert": ".deployment._archive",  # the one that needs another feature, export: it is joined there
    "inspect": "_archive_info",
    "lint": "_lint",
    "load": "_load",
    "signature": "_signature",
    "source": "_source",
}

__all__ = list(_LAZY)


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'ostinato.torchscript' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_LAZY[name]}", __name__), name)
    globals()[name] = value
    return value
