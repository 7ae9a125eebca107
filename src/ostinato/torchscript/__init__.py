"""TorchScript archives as ordinary Python: looked at, read and run without ``torch.jit``.

``inspect`` and ``source`` work without torch; ``load`` brings it in when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._archive_info import (
    ArchiveInfo as ArchiveInfo,
    TensorInfo as TensorInfo,
    inspect as inspect,
)
from ._signature import (
    constants as constants,
    signature as signature,
)
from ._source import source as source

if TYPE_CHECKING:
    from ._load import load as load

__all__ = ["ArchiveInfo", "TensorInfo", "constants", "inspect", "load", "signature", "source"]


def __getattr__(name: str) -> Any:
    if name != "load":
        raise AttributeError(f"module 'ostinato.torchscript' has no attribute {name!r}")
    from ._load import load

    globals()[name] = load
    return load
