"""Programs for the ExecuTorch runtime: the extra ``ostinato[executorch]``."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.fx import Graph, Node

from .._atomic import replacing
from .._errors import fail
from .._lowering import copied, expanded
from ._methods import mutated_buffers, tensor_of
from ._signature import dtype_name
from ._subclasses import decomposed, has_parts

# What the runtime computes with. Of 8 bits and fewer it knows no floating-point numbers.
_DTYPES = frozenset(
    ("float32", "float64", "float16", "bfloat16", "bool", "uint8", "int8", "int16", "int32", "int64")
)
# Operators that are none of torch's core, but have a kernel in the runtime.
_HAS_KERNELS = [torch.ops.aten.bitwise_right_shift.Tensor, torch.ops.aten.bitwise_left_shift.Tensor]
_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def to_executorch(program: ExportedProgram, path: str | os.PathLike[str]) -> None:
    """Write ``program`` as a ``.pte`` file for the ExecuTorch runtime, lowered to XNNPACK where it can be.

    The file appears whole or not at all.

    MX weights stay packed in it, and the program decodes them in each call.

    Raises ExportError, naming the weight or input, where a dtype is one that the
    runtime does not know, such as float8_e4m3fn, and where ExecuTorch cannot lower
    the program; UsageError where it is not installed, or ``path`` does not end in
    ``.pte``.
    """
    if not os.fspath(path).endswith(".pte"):
        raise fail("export.pte_suffix", path=os.fspath(path))
    lower = lowering()
    program = expanded(decomposed(program) if has_parts(program) else program)
    _check_dtypes(program)
    try:
        content = lower(_for_the_runtime(program))
    except Exception as error:
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
        raise fail("export.executorch", reason=f"{type(error).__name__}: {first}"[:300]) from error
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
        config = exir.EdgeCompileConfig(_core_aten_ops_exception_list=_HAS_KERNELS)
        partitioners = [partitioner.XnnpackPartitioner()]
        edge = exir.to_edge_transform_and_lower(program, partitioner=partitioners, compile_config=config)
        # Without this pass a file has no initial values for what the program changes.
        initial = passes.InitializedMutableBufferPass(_state(edge.exported_program()))
        return edge.to_executorch(exir.ExecutorchBackendConfig(passes=[initial])).buffer

    return lower


def _state(program: ExportedProgram) -> list[str]:
    """The names, in the graph, of the buffers that the program changes."""
    changed = set(mutated_buffers(program))
    specs = program.graph_signature.input_specs
    return [spec.arg.name for spec in specs if spec.kind == InputKind.BUFFER and spec.target in changed]


def _for_the_runtime(program: ExportedProgram) -> ExportedProgram:
    """The program as a copy that ExecuTorch computes as torch does."""
    made = copied(program)
    _keep_old_values(made)
    for node in [*made.graph.nodes]:
        if node.target is torch.ops.aten.view.dtype:
            _words_of_bytes(made.graph, node)
    made.graph_module.recompile()
    return made


def _keep_old_values(program: ExportedProgram) -> None:
    """Give copies of state that is given as it was: new values are written before the results are read."""
    state = set(_state(program))
    output = program.graph.output_node()
    for node in [each for each in output.all_input_nodes if each.name in state]:
        with program.graph.inserting_before(output):
            old = _call(program.graph, torch.ops.aten.clone.default, node)
        output.replace_input_with(node, old)
        for spec in program.graph_signature.output_specs:
            if spec.arg.name == node.name:
                spec.arg.name = old.name


def _words_of_bytes(graph: Graph, node: Node) -> None:
    """Put arithmetic in the place of four bytes seen as an int32, for which the runtime has no operator."""
    aten, source = torch.ops.aten, node.all_input_nodes[0]
    value = source.meta["val"]
    if value.dtype is not torch.uint8 or node.args[1] is not torch.int32 or value.shape[-1] != 4:
        return
    with graph.inserting_before(node):
        wide = _call(graph, aten._to_copy.default, source, dtype=torch.int32)
        words: Any = None
        for i in range(4):
            part = _call(graph, aten.slice.Tensor, wide, -1, i, i + 1)
            part = _call(graph, aten.mul.Scalar, part, 256**i)
            words = part if words is None else _call(graph, aten.add.Tensor, words, part)
    node.replace_all_uses_with(words)
    graph.erase_node(node)


def _call(graph: Graph, op: Any, *args: Any, **kwargs: Any) -> Node:
    node = graph.call_function(op, args, kwargs)
    with torch.no_grad():
        values = [each.meta["val"] if isinstance(each, Node) else each for each in args]
        node.meta["val"] = op(*values, **kwargs)
    return node


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
