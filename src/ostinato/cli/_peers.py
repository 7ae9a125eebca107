"""The runtimes that ``bench`` times beside Ostinato."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .._errors import OstinatoError, fail
from ..deployment._timing import Call
from . import _onnx_peers

_Maker = Callable[[str, str, tuple[Any, ...], int], Call]


def peers(wanted: str, file: str, method: str, args: tuple[Any, ...], threads: int) -> dict[str, Call]:
    """The runtimes that ``--against`` names, each ready to be called and called once.

    UsageError for an unknown name or a runtime that does not take ``args``,
    MissingDependencyError for one that is not installed.
    """
    found: dict[str, Call] = {}
    for each in filter(None, (part.strip() for part in wanted.split(","))):
        name, _, path = each.partition("=")
        if name not in _OF_A_PROGRAM and name not in _OF_A_FILE:
            raise fail("cli.peer", name=name)
        if path and name not in _OF_A_FILE:
            raise fail("cli.peer_takes_no_path", name=name)
        if not path and name not in _OF_A_PROGRAM:
            raise fail("cli.peer_path", name=name)
        make = _OF_A_FILE[name] if path else _OF_A_PROGRAM[name]
        try:
            call = make(path or file, method, args, threads)
            call()
        except OstinatoError:
            raise
        except Exception as error:  # whatever another runtime says to a file or to arguments
            first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
            raise fail(
                "cli.peer_failed", name=each, reason=f"{type(error).__name__}: {first[:200]}"
            ) from error
        found[name] = call
    return found


def _eager(path: str, method: str, args: tuple[Any, ...], threads: int) -> Call:
    """The exported program, or the module of an archive, run by torch."""
    from ..deployment import file_kind

    if file_kind(path) == "torchscript":
        from ..torchscript import load

        return _without_gradients(getattr(load(path).eval(), method), args)
    from ..deployment._load import eager_program

    return _without_gradients(eager_program(path, method, args), args)


def _archive(path: str, method: str, args: tuple[Any, ...], threads: int) -> Call:
    return _without_gradients(getattr(torch.jit.load(path).eval(), method), args)


def _compiled(path: str, method: str, args: tuple[Any, ...], threads: int) -> Call:
    """torch.compile as for inference: shapes fixed, weights frozen."""
    from ..deployment._load import functional_program

    module = functional_program(path, method, args)
    function = torch.compile(module, dynamic=False, fullgraph=True, options={"freezing": True})
    return _without_gradients(function, module.example)


def _traced(path: str, method: str, args: tuple[Any, ...], threads: int) -> Call:
    """The program as torch.jit traces and freezes it."""
    from ..deployment._load import functional_program

    module = functional_program(path, method, args)
    with torch.no_grad():
        traced = torch.jit.freeze(torch.jit.trace(module, module.example, check_trace=False))
    return _without_gradients(traced, module.example)


def _without_gradients(function: Callable[..., Any], args: tuple[Any, ...]) -> Call:
    def call() -> Any:
        with torch.no_grad():
            return function(*args)

    for _ in range(3):  # torch.jit and torch.compile optimise in the first calls
        call()
    return call


_OF_A_PROGRAM: dict[str, _Maker] = {
    "eager": _eager,
    "compile": _compiled,
    "jit": _traced,
    "onnxruntime": _onnx_peers.onnxruntime_of_program,
    "openvino": _onnx_peers.openvino_of_program,
}
_OF_A_FILE: dict[str, _Maker] = {
    "eager": _eager,
    "jit": _archive,
    "torchscript": _archive,
    "onnx": _onnx_peers.onnxruntime,
    "onnxruntime": _onnx_peers.onnxruntime,
    "openvino": _onnx_peers.openvino,
}
