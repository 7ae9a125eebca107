"""Programs for the ExecuTorch runtime: the extra ``ostinato[executorch]``."""

from __future__ import annotations

import importlib
import os
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

from .._atomic import replacing
from .._errors import fail
from ._methods import tensor_of
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
    partitioner, lower = _installed()
    program = decomposed(program) if has_parts(program) else program
    _check_dtypes(program)
    try:
        content = lower(program, partitioner=[partitioner()]).to_executorch().buffer
    except Exception as error:
        last = [line.strip() for line in str(error).splitlines() if line.strip()][-1:]
        raise fail("export.executorch", reason=f"{type(error).__name__}: {''.join(last)}"[:300]) from error
    with replacing(path) as part:
        part.write_bytes(content)


def _installed() -> tuple[Any, Any]:
    try:
        xnnpack = importlib.import_module("executorch.backends.xnnpack.partition.xnnpack_partitioner")
        exir = importlib.import_module("executorch.exir")
    except ImportError as error:
        raise fail("export.no_executorch", reason=error) from None
    return xnnpack.XnnpackPartitioner, exir.to_edge_transform_and_lower


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
