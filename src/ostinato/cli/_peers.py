"""The runtimes that ``bench`` times beside Ostinato, and the timing that is fair to all."""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from .._errors import OstinatoError, fail

Call = Callable[[], Any]
_ROUND_SECONDS = 0.05


@dataclass(frozen=True)
class Timing:
    """Microseconds a call: the median and the least over the rounds."""

    median: float
    least: float


def alternating(runtimes: dict[str, Call], rounds: int) -> dict[str, Timing]:
    """Time all runtimes in turns, so that what else the machine does hits all of them."""
    counts = {}
    for name, call in runtimes.items():
        call()
        began = time.perf_counter()
        call()
        counts[name] = max(1, int(_ROUND_SECONDS / max(time.perf_counter() - began, 1e-7)))
    seen: dict[str, list[float]] = {name: [] for name in runtimes}
    for _ in range(rounds):
        for name, call in runtimes.items():
            count = counts[name]
            began = time.perf_counter()
            for _ in range(count):
                call()
            seen[name].append((time.perf_counter() - began) / count * 1e6)
    return {name: Timing(statistics.median(each), min(each)) for name, each in seen.items()}


def peers(wanted: str, file: str, method: str, args: tuple[Any, ...], threads: int) -> dict[str, Call]:
    """The runtimes that ``--against`` names, each ready to be called and called once.

    UsageError for an unknown name or a runtime that does not take ``args``.
    """
    found: dict[str, Call] = {}
    for each in filter(None, (part.strip() for part in wanted.split(","))):
        name, _, path = each.partition("=")
        if name not in _MAKERS:
            raise fail("cli.peer", name=name)
        if name != "eager" and not path:
            raise fail("cli.peer_path", name=name)
        try:
            call = _MAKERS[name](path or file, method, args, threads)
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


def _torchscript(path: str, method: str, args: tuple[Any, ...], threads: int) -> Call:
    return _without_gradients(getattr(torch.jit.load(path).eval(), method), args)


def _without_gradients(function: Callable[..., Any], args: tuple[Any, ...]) -> Call:
    def call() -> Any:
        with torch.no_grad():
            return function(*args)

    for _ in range(3):  # torch.jit optimises in the first calls
        call()
    return call


def _onnx(path: str, method: str, args: tuple[Any, ...], threads: int) -> Call:
    try:
        onnxruntime: Any = importlib.import_module("onnxruntime")
    except ImportError:
        raise fail("cli.no_onnxruntime") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = onnx_feed(session.get_inputs(), args)
    return lambda: session.run(None, feed)


def onnx_feed(inputs: list[Any], args: tuple[Any, ...]) -> dict[str, Any]:
    """Arguments by the inputs of an ONNX model: tensors and numbers in order, state that is left zeros."""
    import numpy

    tensors = [each.numpy() for each in args if isinstance(each, torch.Tensor)]
    numbers = [each for each in args if isinstance(each, (bool, int, float))]
    feed = {}
    for each in inputs:
        dtype = {"tensor(int64)": numpy.int64, "tensor(double)": numpy.float64}.get(each.type, numpy.float32)
        if numbers and not each.shape:
            feed[each.name] = numpy.array(numbers.pop(0), dtype=dtype)
        elif tensors:
            feed[each.name] = tensors.pop(0)
        else:
            shape = [size if isinstance(size, int) else 1 for size in each.shape]
            feed[each.name] = numpy.zeros(shape, dtype=dtype)
    return feed


_MAKERS: dict[str, Callable[[str, str, tuple[Any, ...], int], Call]] = {
    "eager": _eager,
    "torchscript": _torchscript,
    "onnx": _onnx,
}
