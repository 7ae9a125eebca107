"""Deploys a model to one file, and runs the file: where the features meet.

Telling what kind a file is needs no torch; the rest loads on first use.
"""

from typing import TYPE_CHECKING, Any

from ._candidate import check_place as check_place
from ._kind import file_kind as file_kind

if TYPE_CHECKING:
    from ._convert import convert as convert, convert_to_executorch as convert_to_executorch
    from ._deploy import deploy as deploy
    from ._difference import Difference as Difference
    from ._files import Content as Content, content_of as content_of, read as read
    from ._load import load as load
    from ._report import DeployReport as DeployReport
    from ._runtime import Deployed as Deployed, Method as Method

_NEEDS_TORCH = {
    "convert": "_convert",
    "convert_to_executorch": "_convert",
    "deploy": "_deploy",
    "Difference": "_difference",
    "DeployReport": "_report",
    "Deployed": "_runtime",
    "Method": "_runtime",
    "Content": "_files",
    "content_of": "_files",
    "read": "_files",
    "load": "_load",
}


def __getattr__(name: str) -> Any:
    if name not in _NEEDS_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f".{_NEEDS_TORCH[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_NEEDS_TORCH])
