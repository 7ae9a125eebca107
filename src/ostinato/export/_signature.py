"""What a program takes and gives, as JSON, and whether a call fits it."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ConstantArgument,
    InputKind,
    OutputKind,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from torch.utils import _pytree as pytree

from .._errors import fail

Tree = dict[str, Any]


class _Leaf:
    """Keeps the JSON of a leaf apart from the containers around it."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree


def describe(program: ExportedProgram) -> tuple[Tree, Tree]:
    """``(inputs, outputs)`` of a program, in the form that `VariantInfo` documents."""
    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    specs = program.graph_signature
    taken = [
        _leaf(spec.arg, values, program) for spec in specs.input_specs if spec.kind == InputKind.USER_INPUT
    ]
    given = [
        _leaf(spec.arg, values, program) for spec in specs.output_specs if spec.kind == OutputKind.USER_OUTPUT
    ]
    args, kwargs = pytree.tree_unflatten(taken, program.call_spec.in_spec)
    inputs = {"args": _nested(tuple(args)), "kwargs": _nested(dict(kwargs))}
    return inputs, _nested(pytree.tree_unflatten(given, program.call_spec.out_spec))


def _leaf(argument: Any, values: dict[str, Any], program: ExportedProgram) -> _Leaf:
    if isinstance(argument, ConstantArgument):
        value = argument.value
        plain = value is None or isinstance(value, (bool, int, str))
        if not plain and not (isinstance(value, float) and math.isfinite(value)):
            raise fail("export.input_value", value=repr(value), kind=type(value).__name__)
        return _Leaf({"value": value})
    if isinstance(argument, TensorArgument):
        value = values[argument.name]
        shape = [_extent(size, program) for size in value.shape]
        return _Leaf({"tensor": {"dtype": dtype_name(value.dtype), "shape": shape}})
    if isinstance(argument, (SymIntArgument, SymFloatArgument, SymBoolArgument)):
        extent = _extent(values[argument.name], program)
        return _Leaf({"size": extent} if isinstance(extent, dict) else {"value": extent})
    raise fail("export.input_value", value=repr(argument), kind=type(argument).__name__)


def _extent(size: Any, program: ExportedProgram) -> Any:
    if isinstance(size, int):
        return size
    limits = program.range_constraints.get(size.node.expr)
    return {
        "dim": str(size.node.expr),
        "min": _limit(limits.lower) if limits else None,
        "max": _limit(limits.upper) if limits else None,
    }


def _limit(value: Any) -> int | None:
    return int(value) if value.is_Integer and abs(int(value)) < 1 << 62 else None


def _nested(value: Any) -> Tree:
    if isinstance(value, _Leaf):
        return value.tree
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise fail("export.key", key=repr(key))
        return {"dict": {key: _nested(item) for key, item in value.items()}}
    if isinstance(value, (tuple, list)):
        return {"list" if isinstance(value, list) else "tuple": [_nested(item) for item in value]}
    raise fail("export.container", kind=type(value).__name__)


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def matches(inputs: Tree, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a call with these arguments is one that the variant with these ``inputs`` takes."""
    return _fits(inputs["args"], args) and _fits(inputs["kwargs"], kwargs)


def _fits(tree: Tree, value: Any) -> bool:
    ((kind, expected),) = tree.items()
    if kind == "tensor":
        return (
            isinstance(value, torch.Tensor)
            and dtype_name(value.dtype) == expected["dtype"]
            and value.dim() == len(expected["shape"])
            and all(map(_within, expected["shape"], value.shape))
        )
    if kind == "value":
        return type(value) is type(expected) and bool(value == expected)
    if kind == "size":
        return isinstance(value, int) and _within(expected, value)
    if kind == "dict":
        return (
            isinstance(value, dict)
            and value.keys() == expected.keys()
            and all(_fits(expected[key], value[key]) for key in expected)
        )
    return (
        isinstance(value, list if kind == "list" else tuple)
        and len(value) == len(expected)
        and all(map(_fits, expected, value))
    )


def _within(expected: Any, size: int) -> bool:
    if not isinstance(expected, dict):
        return bool(size == expected)
    low, high = expected["min"], expected["max"]
    return (low is None or size >= low) and (high is None or size <= high)


def example(inputs: Tree) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments that fit ``inputs``: tensors of zeros, dimensions that vary at their least (at least 2)."""
    args, kwargs = _zeros(inputs["args"]), _zeros(inputs["kwargs"])
    return args, kwargs


def _zeros(tree: Tree) -> Any:
    ((kind, expected),) = tree.items()
    if kind == "tensor":
        return torch.zeros(
            [_least(size) for size in expected["shape"]], dtype=getattr(torch, expected["dtype"])
        )
    if kind == "value":
        return expected
    if kind == "size":
        return _least(expected)
    if kind == "dict":
        return {key: _zeros(item) for key, item in expected.items()}
    items = [_zeros(item) for item in expected]
    return items if kind == "list" else tuple(items)


def _least(size: Any) -> int:
    if not isinstance(size, dict):
        return int(size)
    return max(2, size["min"] or 0) if size["max"] is None or size["max"] >= 2 else int(size["max"])


def shown(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """A call for a message: ``(float32[1, 512], 16000)``."""
    parts = [_shown(each) for each in args] + [f"{key}={_shown(each)}" for key, each in kwargs.items()]
    return f"({', '.join(parts)})"


def _shown(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{dtype_name(value.dtype)}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_shown(each) for each in value)}]"
    return repr(value)
