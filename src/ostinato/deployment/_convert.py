"""A model written to a file as it is: traced with its state, not run from a graph and not compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import torch

from .._errors import fail
from ..export import Metadata, Variant, save_methods, shown, to_executorch
from ..export._executorch import lowering
from . import _examples
from ._candidate import check_place, check_target
from ._source import Source, read_source
from ._tracing import located, traced

_Source = str | os.PathLike[str] | torch.nn.Module
_Args = _examples.Example | Sequence[_examples.Example] | None
_Tell = Callable[[str], None]


def _quietly(line: str) -> None:
    pass


def convert(
    source: _Source,
    args: _Args = None,
    *,
    out: str | os.PathLike[str],
    portable: bool = True,
    dynamic: Mapping[str, str] | None = None,
    tell: _Tell = _quietly,
) -> Metadata:
    """Write a TorchScript archive, a ``.pt2`` or a module as a ``.pt2``; returns what that says about itself.

    ``source``, ``args`` and ``tell`` are as for `deploy`, which also proves that
    the file does what its source does. With ``portable=False`` the file may hold
    operators and dtypes that not every torch knows. Sizes in which ``args``
    differ are left open where the model takes that, and so are those that
    ``dynamic`` names, as for `ost.torchscript.convert`.

    Raises ArchiveError, ExportError, DeployError and UsageError as `deploy` does.
    """
    check_target(out)
    read, methods = _read(source, args, tell, dynamic or {})
    tell(f"writing {os.fspath(out)}")
    return save_methods(out, methods, metadata={"source": read.described()}, portable=portable)


def convert_to_executorch(
    source: _Source,
    args: _Args = None,
    *,
    out: str | os.PathLike[str],
    method: str = "forward",
    tell: _Tell = _quietly,
) -> list[str]:
    """Write one program of a model as a ``.pte``: the first variant of ``method``.

    Returns what is left out, the signatures of all other variants and methods.

    Raises as `convert` and `ost.export.to_executorch` do.
    """
    check_place(out)
    lowering()  # is it installed? said before the work, not after it
    _, methods = _read(source, args, tell)
    if method not in methods:
        raise fail("export.no_such_method", path=_name(source), method=method, known=", ".join(methods))
    first, *_ = methods[method]
    tell(f"writing {os.fspath(out)}")
    to_executorch(first.program, out)
    others = ((name, each) for name, variants in methods.items() for each in variants if each is not first)
    return [f"{name}{shown(each.args, each.kwargs)}" for name, each in others]


def _read(
    source: _Source, args: _Args, tell: _Tell, dynamic: Mapping[str, str] | None = None
) -> tuple[Source, dict[str, list[Variant]]]:
    """The source, and its programs: those it has, or those traced from it."""
    tell(f"reading {_name(source)}")
    read = read_source(source)
    if read.module is None:
        return read, dict(read.programs)
    calls, _ = _examples.find(read, args, tell)
    with located(read.name):
        return read, traced(read, calls, {}, tell, dynamic)


def _name(source: _Source) -> str:
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else type(source).__name__
