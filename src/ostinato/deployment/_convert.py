"""A model written to a file as it is: traced with its state, not run from a graph and not compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..export import Metadata, save_methods
from . import _examples
from ._candidate import check_target
from ._deploy import traced
from ._source import read_source


def convert(
    source: str | os.PathLike[str] | torch.nn.Module,
    args: tuple[Any, ...] | Sequence[tuple[Any, ...]] | None = None,
    *,
    out: str | os.PathLike[str],
    portable: bool = True,
    tell: Callable[[str], None] = lambda line: None,
) -> Metadata:
    """Write a TorchScript archive, a ``.pt2`` or a module as a ``.pt2``; returns what that says about itself.

    ``source``, ``args`` and ``tell`` are as for `deploy`, which also proves that
    the file does what its source does. With ``portable=False`` the file may hold
    operators and dtypes that not every torch knows.

    Raises ArchiveError, ExportError, DeployError and UsageError as `deploy` does.
    """
    check_target(out)
    tell(f"reading {source if isinstance(source, (str, os.PathLike)) else type(source).__name__}")
    read = read_source(source)
    if read.module is not None:
        calls, _ = _examples.find(read, args, tell)
        methods = traced(read, calls, {}, tell)
    else:
        methods = dict(read.programs)
    tell(f"writing {os.fspath(out)}")
    return save_methods(out, methods, metadata={"source": read.described()}, portable=portable)
