"""ONNX Runtime and OpenVINO, both with tensors bound once, so that a call moves nothing."""

from __future__ import annotations

import functools
import importlib
import pathlib
from typing import Any

import numpy
import torch

from ostinato.cli._onnx_peers import openvino_settings, quiet_export

from . import _silero
from ._rows import ROWS, Row, Tensors
from ._runner import Clock, NotInstalled, Runner, copy_all


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise NotInstalled(name) from None


def exported(row: Row) -> str:
    """The row as an ONNX file; Silero VAD comes with its own."""
    return _silero.onnx() if row.deployed else _exported(row.name)


@functools.cache
def _exported(name: str) -> str:
    for needed in ("onnx", "onnxscript"):
        _package(needed)
    row = next(each for each in ROWS if each.name == name)
    path = pathlib.Path(_silero.temporary()) / f"{name}.onnx"
    with quiet_export():
        program = torch.onnx.export(row.make(), row.inputs()(), dynamo=True, verbose=False)
    program.save(path)
    return str(path)


def onnxruntime(row: Row, threads: int, inputs: Tensors) -> Runner:
    """A session with input and output memory bound."""
    runtime = _package("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    path = exported(row)
    clock = Clock()
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def bound(given: Tensors, made: Tensors) -> Any:
        binding = session.io_binding()
        for each, tensor in zip(session.get_inputs(), given, strict=True):
            binding.bind_input(each.name, "cpu", 0, numpy.float32, tuple(tensor.shape), tensor.data_ptr())
        for each, tensor in zip(session.get_outputs(), made, strict=True):
            binding.bind_output(each.name, "cpu", 0, numpy.float32, tuple(tensor.shape), tensor.data_ptr())
        return functools.partial(session.run_with_iobinding, binding)

    return _stateful(bound, clock) if row.deployed else _plain(bound, row, inputs, clock)


def openvino(row: Row, threads: int, inputs: Tensors) -> Runner:
    """An infer request with tensors set."""
    core = _package("openvino").Core()
    path = exported(row)
    clock = Clock()
    compiled = core.compile_model(path, "CPU", openvino_settings(threads))
    tensor = _package("openvino").Tensor

    def bound(given: Tensors, made: Tensors) -> Any:
        request = compiled.create_infer_request()
        for i, each in enumerate(given):
            request.set_input_tensor(i, tensor(each.numpy(), shared_memory=True))
        for i, each in enumerate(made):
            request.set_output_tensor(i, tensor(each.numpy(), shared_memory=True))

        def run() -> None:  # `infer` would also build a dictionary of results
            request.start_async()
            request.wait()

        return run

    return _stateful(bound, clock) if row.deployed else _plain(bound, row, inputs, clock)


def _plain(bound: Any, row: Row, inputs: Tensors, clock: Clock) -> Runner:
    given = tuple(each.clone() for each in inputs)
    with torch.no_grad():
        made = row.make()(*inputs)
    outputs = tuple(torch.empty_like(each) for each in ((made,) if isinstance(made, torch.Tensor) else made))
    run = bound(given, outputs)
    run()
    return Runner(lambda new: copy_all(given, new), run, lambda: outputs, clock())


def _stateful(bound: Any, clock: Clock) -> Runner:
    """Silero VAD: what the archive's own code does around its network, the state without a copy.

    Two bindings take turns, of which each reads the state that the other wrote.
    """
    samples = torch.zeros(1, _silero.CONTEXT + _silero.CHUNK)
    chunk = torch.zeros(1, _silero.CHUNK)
    states = torch.zeros(2, 1, 128), torch.zeros(2, 1, 128)
    probability = torch.zeros(1, 1)
    runs = [bound((samples, states[i]), (probability, states[1 - i])) for i in (0, 1)]
    head, tail, last = samples[:, : _silero.CONTEXT], samples[:, _silero.CONTEXT :], [0]
    end = samples[:, -_silero.CONTEXT :]
    views = head.numpy(), tail.numpy(), end.numpy(), chunk.numpy()  # NumPy copies little arrays faster

    def step() -> None:
        into, new, old, given = views
        into[...] = old
        new[...] = given
        runs[last[0]]()
        last[0] = 1 - last[0]

    def reset() -> None:
        for each in (samples, *states):
            each.zero_()

    step()
    return Runner(lambda new: copy_all((chunk,), new), step, lambda: (probability,), clock(), reset)
