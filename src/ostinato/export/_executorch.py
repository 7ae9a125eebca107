"""Programs for the ExecuTorch runtime: the extra ``ostinato[executorch]``."""

from __future__ import annotations

import copy
import importlib
import os
from collections.abc import Callable
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from .._atomic import replacing
from .._errors import fail
from ._methods import mutated_buffers, tensor_of
from ._signature import dtype_name
from ._subclasses import decomposed, has_parts

# What the runtime computes with. Of 8 bits and fewer it knows no floating-point numbers.
_DTYPES = frozenset(
    ("float32", "float64", "float16", "bfloat16", "bool", "uint8", "int8", "int16", "int32", "int64")
)
_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def to_executorch(program: ExportedProgram, path: str | os.PathLike[str]) -> None:
    """Write ``program`` as a ``.pte`` file for the ExecuTorch runtime, lowered to XNNPACK where it can be.

    The file appears whole or not at all.

    Raises ExportError, naming the weight or input, where a dtype is one that the
    runtime does not know, as those of packed MX weights, and where ExecuTorch
    cannot lower the program; UsageError where it is not installed, or ``path``
    does not end in ``.pte``.
    """
    if not os.fspath(path).endswith(".pte"):
        raise fail("export.pte_suffix", path=os.fspath(path))
    lower = lowering()
    program = decomposed(program) if has_parts(program) else program
    _check_dtypes(program)
    try:
        content = lower(_with_old_values(program))
    except Exception as error:
        last = [line.strip() for line in str(error).splitlines() if line.strip()][-1:]
        raise fail("export.executorch", reason=f"{type(error).__name__}: {''.join(last)}"[:300]) from error
    with replacing(path) as part:
        part.write_bytes(content)


def lowering() -> Callable[[ExportedProgram], Any]:
    """What lowers a program to the content of a file; UsageError where it is not installed."""
    try:
        partitioner = importlib.import_module("executorch.backends.xnnpack.partition.xnnpack_partitioner")
        passes = importlib.import_module("executorch.exir.passes.init_mutable_pass")
        exir = importlib.import_module("executorch.exir")
    except ImportError as error:
        raise fail("export.no_executorch", reason=error) from None

    def lower(program: ExportedProgram) -> Any:
        edge = exir.to_edge_transform_and_lower(program, partitioner=[partitioner.XnnpackPartitioner()])
        # Without this pass a file has no initial values for what the program changes.
        initial = passes.InitializedMutableBufferPass(_state(edge.exported_program()))
        return edge.to_executorch(exir.ExecutorchBackendConfig(passes=[initial])).buffer

    return lower


def _state(program: ExportedProgram) -> list[str]:
    """The names, in the graph, of the buffers that the program changes."""
    changed = set(mutated_buffers(program))
    specs = program.graph_signature.input_specs
    return [spec.arg.name for spec in specs if spec.kind == InputKind.BUFFER and spec.target in changed]


def _with_old_values(program: ExportedProgram) -> ExportedProgram:
    """The program with copies of the state that it gives as it was.

    ExecuTorch writes the new values one after the other before it reads the results.
    """
    state = set(_state(program))
    made = copy.copy(program)
    made._graph_module = copy.deepcopy(program.graph_module)
    graph = made.graph_module.graph
    output = graph.output_node()
    olds = [node for node in output.all_input_nodes if node.name in state]
    for node in olds:
        with graph.inserting_before(output):
            old = graph.call_function(torch.ops.aten.clone.default, (node,))
        old.meta["val"] = node.meta["val"].clone()
        output.replace_input_with(node, old)
        for spec in made.graph_signature.output_specs:
            if spec.arg.name == node.name:
                spec.arg.name = old.name
    made.graph_module.recompile()
    return made


def _check_dtypes(program: ExportedProgram) -> None:
    value: Any
    values = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    for spec in program.graph_signature.input_specs:
        if spec.kind in _WEIGHTS:
            name, value = str(spec.target), tensor_of(program, str(spec.target))
        else:
            name, value = spec.arg.name, values.get(spec.arg.name)
        if isinstance(value, torch.Tensor) and dtype_name(value.dtype) not in _DTYPES:
            raise fail("export.executorch_dtype", name=name, dtype=dtype_name(value.dtype))
