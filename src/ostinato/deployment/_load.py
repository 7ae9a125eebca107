"""``ost.load``, and the programs of a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from .._errors import ArchiveError, fail
from ..export import Variant, describe, example, load as load_program, load_methods
from ._functional import Functional
from ._kind import file_kind
from ._program import Program
from ._runtime import Deployed


def load(path: str | os.PathLike[str], *, numerics: str | None = None, copy_outputs: bool = True) -> Deployed:
    """Load a deployed file as a callable that replays the model from graphs.

    Args:
        path: a ``.pt2`` that `ost.deploy` wrote, or one of ``torch.export.save``
            (a single method with a single variant).
        numerics: "exact" or "fast"; by default what the file was deployed with,
            "exact" for a file of stock torch.
        copy_outputs: if false, calls return the graph's own output tensors,
            which the next call of the same variant overwrites.

    The strict reader of `ost.export` checks the file before torch sees any of
    it; nothing in it is unpickled or run by loading.

    Raises:
        ArchiveError: the file is missing, damaged, malicious, or of another kind.
        UsageError: ``numerics`` has a value that is not taken.

    Example::

        vad = ost.load("vad.pt2")
        speech = vad(chunk, 16000)  # chunk: float32 [1, 512]
        vad.reset_states()
    """
    if numerics not in (None, "exact", "fast"):
        raise fail("accelerator.numerics", value=numerics)
    if file_kind(path) == "torchscript":
        raise fail("deployment.not_deployed", path=os.fspath(path))
    methods, kept = programs_of(path)
    return Deployed(os.fspath(path), methods, numerics or kept, copy_outputs)


def programs_of(path: str | os.PathLike[str]) -> tuple[Mapping[str, list[Variant]], str]:
    """``(methods, numerics)`` of a ``.pt2``, of ours or of stock torch (then one method, ``forward``)."""
    try:
        loaded = load_methods(path)
    except ArchiveError as error:
        if error.code != "export.no_metadata":
            raise
        program = load_program(path)
        args, kwargs = example(describe(program)[0])
        return {"forward": [Variant(program, args, kwargs, made_up=True)]}, "exact"
    numerics = loaded.metadata.user.get("numerics")
    return loaded.methods, numerics if numerics in ("exact", "fast") else "exact"


def eager_program(
    path: str | os.PathLike[str], method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """The program for ``args``, run by torch operator by operator and not from a graph: for comparisons."""
    program = _program_for(path, method, args, kwargs)
    return lambda *given, **named: program.run(program.leaves(given, named))


def functional_program(path: str | os.PathLike[str], method: str, args: tuple[Any, ...]) -> Functional:
    """The program for ``args`` as a module of tensors alone, for other runtimes."""
    program = _program_for(path, method, args)
    return Functional(program, program.leaves(args, {})).eval()


def _program_for(
    path: str | os.PathLike[str], method: str, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None
) -> Program:
    found = Deployed(os.fspath(path), programs_of(path)[0], "exact", copy_outputs=True).methods[method]
    return found._program_for(args, dict(kwargs or {}))
