"""ONNX Runtime and OpenVINO, with a model of the user's or the program as torch exports it to ONNX."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .._errors import fail
from ..deployment._timing import Call


def _package(name: str, runtime: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise fail("cli.peer_package", runtime=runtime, package=name) from None


def onnxruntime(path: str, method: str, args: tuple[Any, ...], threads: int) -> Call:
    """A session, called with NumPy arrays as its users call it."""
    runtime = _package("onnxruntime", "ONNX Runtime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = onnx_feed([(i.name, i.type, i.shape) for i in session.get_inputs()], args)
    return lambda: session.run(None, feed)


def openvino_settings(threads: int) -> dict[str, Any]:
    """For latency, in float32: by itself it would compute in bf16 where the CPU can."""
    return {
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
    }


def openvino(path: str, method: str, args: tuple[Any, ...], threads: int) -> Call:
    """An infer request with its tensors set once."""
    runtime = _package("openvino", "OpenVINO")
    compiled = runtime.Core().compile_model(path, "CPU", openvino_settings(threads))
    request = compiled.create_infer_request()
    inputs = [
        (str(i), _OPENVINO_TYPES.get(each.element_type.get_type_name(), "tensor(float)"), _sizes(each))
        for i, each in enumerate(compiled.inputs)
    ]
    given = list(onnx_feed(inputs, args).values())
    bound = [array.copy() for array in given]
    for i, array in enumerate(bound):
        request.set_input_tensor(i, runtime.Tensor(array, shared_memory=True))

    def call() -> None:  # `infer` would also build a dictionary of results
        for array, new in zip(bound, given, strict=True):
            array[...] = new
        request.start_async()
        request.wait()

    return call


_OPENVINO_TYPES = {"i64": "tensor(int64)", "f64": "tensor(double)", "i32": "tensor(int32)"}


def _sizes(port: Any) -> list[int]:
    return [each.get_length() if each.is_static else 1 for each in port.get_partial_shape()]


def onnxruntime_of_program(path: str, method: str, args: tuple[Any, ...], threads: int) -> Call:
    return _exported(onnxruntime, "onnxruntime", "ONNX Runtime", path, method, args, threads)


def openvino_of_program(path: str, method: str, args: tuple[Any, ...], threads: int) -> Call:
    return _exported(openvino, "openvino", "OpenVINO", path, method, args, threads)


def _exported(
    make: Callable[..., Call],
    package: str,
    runtime: str,
    path: str,
    method: str,
    args: tuple[Any, ...],
    threads: int,
) -> Call:
    """The runtime with the program in an ONNX file of its own, its state among inputs and outputs."""
    from ..deployment._load import functional_program

    for needed in (package, "onnx", "onnxscript"):
        _package(needed, runtime)
    module = functional_program(path, method, args)
    with tempfile.TemporaryDirectory(prefix="ostinato-bench-") as folder:
        file = os.path.join(folder, "program.onnx")
        with quiet_export():
            torch.onnx.export(module, module.example, file, dynamo=True, verbose=False)
        return make(file, method, module.example, threads)


@contextlib.contextmanager
def quiet_export() -> Iterator[None]:
    """For `torch.onnx.export`, which tells of each of its stages."""
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
        yield


def onnx_feed(inputs: list[tuple[str, str, Any]], args: tuple[Any, ...]) -> dict[str, Any]:
    """Arguments by the inputs of an ONNX model: tensors and numbers in order, state that is left zeros."""
    import numpy

    types = {"tensor(int64)": numpy.int64, "tensor(double)": numpy.float64, "tensor(int32)": numpy.int32}
    tensors = [each.numpy() for each in args if isinstance(each, torch.Tensor)]
    numbers = [each for each in args if isinstance(each, (bool, int, float))]
    feed = {}
    for name, kind, shape in inputs:
        dtype = types.get(kind, numpy.float32)
        if numbers and not shape:
            feed[name] = numpy.array(numbers.pop(0), dtype=dtype)
        elif tensors:
            feed[name] = tensors.pop(0)
        else:
            sizes = [size if isinstance(size, int) else 1 for size in shape]
            feed[name] = numpy.zeros(sizes, dtype=dtype)
    return feed
