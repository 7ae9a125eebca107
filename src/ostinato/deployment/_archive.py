"""``ost.torchscript.convert``: from an archive to a program of ``torch.export``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch.export import ExportedProgram

from ._candidate import check_target


def convert(
    path: str | os.PathLike[str],
    args: tuple[Any, ...] | Sequence[tuple[Any, ...]] | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    dynamic: Mapping[str, str] | None = None,
    portable: bool = True,
    tell: Callable[[str], None] = lambda line: None,
) -> ExportedProgram:
    """The program of a TorchScript archive's ``forward``, with the state that the model keeps.

    Conditions and loops on the values of tensors become ``torch.cond`` and ``torch.while_loop``, all others
    are settled; state in attributes becomes buffers. The program has been compared with the archive's own
    code on random inputs, several calls in a row.

    Args:
        path: the archive.
        args: example inputs, a tuple; or a list of tuples. Those that differ in sizes alone are one program
            in which these sizes are open; where numbers or texts differ too, the first of the list is
            returned and all are written. By default inputs are guessed, and ``tell`` says which.
        out: where to write a ``.pt2`` with all programs and the method that resets.
        dynamic: sizes to leave open: ``{"0": "batch"}`` for a dimension of every tensor that has it,
            ``{"x.1": "time"}`` or ``{"0.1": "time"}`` for one argument.
        portable: refuse operators and dtypes that not every torch knows, in ``out``.
        tell: called with a line for each step.

    A number that the model computes from a tensor comes as a number. Raises ArchiveError where the archive
    cannot be read, ExportError where the model cannot be a program (with file and line of the archive),
    DeployError where no inputs are found or ``out`` cannot be written, UsageError for wrong arguments.
    """
    from ..export import save_methods
    from . import _examples
    from ._source import archive
    from ._tracing import located, traced

    if out is not None:
        check_target(out)
    tell(f"reading {os.fspath(path)}")
    read = archive(Path(path))
    calls, _ = _examples.find(read, args, tell)
    with located(read.name):
        methods = traced(read, calls, {}, tell, dynamic or {})
    if out is not None:
        tell(f"writing {os.fspath(out)}")
        save_methods(out, methods, metadata={"source": read.described()}, portable=portable)
    return methods["forward"][0].program
