"""Writes a ``_foreach_`` operator as the operators, one a tensor, that it runs on the CPU.

torch's CPU has no fused form of them: each loops over its tensors. Taken apart they
have native steps, and fast numerics can fuse them with their neighbours.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from ._forms import bind
from ._program import AnyNode, Node, Program, Value, leaves
from ._schema import OpOverload

_PREFIX = "aten::_foreach_"

# Overload of the list operator -> of the one for a tensor.
_OVERLOADS = {"": "default", "Scalar": "Scalar", "ScalarList": "Scalar", "List": "Tensor", "Tensor": "Tensor"}
_NAMES = {"norm": "linalg_vector_norm"}
# Where the overload of the single operator has another name.
_SPECIAL = {
    ("addcmul", "Scalar"): "default",
    ("addcmul", "ScalarList"): "default",
    ("addcdiv", "Scalar"): "default",
    ("addcdiv", "ScalarList"): "default",
    ("pow", "Scalar"): "Tensor_Scalar",
    ("pow", "ScalarList"): "Tensor_Scalar",
    ("pow_", "Scalar"): "Scalar",
    ("pow_", "ScalarList"): "Scalar",
    ("norm", "Scalar"): "default",
    ("clamp_min", "Scalar"): "default",
    ("clamp_max", "Scalar"): "default",
}
# Their single operators do not do quite the same, or read a tensor back.
_LEFT = {"maximum", "maximum_", "minimum", "minimum_", "max", "powsum", "mm", "zero", "copy"}


def expand(program: Program) -> None:
    """Rewrites ``program`` in place."""
    program.each_block(_expand)


def _expand(block: Program) -> None:
    nodes: list[AnyNode] = []
    for node in block.nodes:
        parts = _parts(node) if isinstance(node, Node) else None
        nodes += [node] if parts is None else parts
    block.nodes = nodes


@functools.cache
def _single(op: OpOverload) -> OpOverload | None:
    """The operator that ``op`` runs for each of its tensors; None where there is none."""
    schema = op._schema
    name = schema.name.removeprefix(_PREFIX)
    base = name.removesuffix("_")
    if name == schema.name or name in _LEFT:
        return None
    special = _SPECIAL.get((name, schema.overload_name)) or _SPECIAL.get((base, schema.overload_name))
    overload = special or _OVERLOADS.get(schema.overload_name)
    packet = getattr(torch.ops.aten, _NAMES.get(name, name), None)
    if packet is None or overload is None or not hasattr(packet, overload):
        return None
    return getattr(packet, overload)  # type: ignore[no-any-return]


def _parts(node: Node) -> list[AnyNode] | None:
    single = _single(node.op)
    if single is None or node.random:
        return None
    arguments = bind(node.op, node.args, node.kwargs)
    tensors = arguments["self"]
    in_place = node.op._schema.is_mutable
    outputs = tensors if in_place else leaves(node.outputs, Value)
    if len(outputs) != len(tensors):
        return None
    parts: list[AnyNode] = []
    for index, output in enumerate(outputs):
        each = {n: v[index] if isinstance(v, (list, tuple)) else v for n, v in arguments.items()}
        touched, nothing = frozenset((output.storage,)), frozenset[int]()
        fresh, written = (nothing, touched) if in_place else (touched & node.fresh, nothing)
        parts.append(_node(single, _by_name(single, each), output, fresh, written, node))
    return parts


def _by_name(single: OpOverload, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments under the names that they have with the single operator: they come in the same order."""
    names = [a.name for a in single._schema.arguments]
    if set(given) <= set(names):
        return given
    return dict(zip(names, given.values(), strict=False))


def _node(
    op: OpOverload,
    given: dict[str, Any],
    output: Value,
    fresh: frozenset[int],
    written: frozenset[int],
    node: Node,
) -> Node:
    schema = op._schema.arguments
    args = tuple(given.get(a.name, _default(a)) for a in schema if not a.kwarg_only)
    kwargs = {a.name: given[a.name] for a in schema if a.kwarg_only and a.name in given}
    return Node(op, args, kwargs, output, fresh, written, node.where)


def _default(argument: Any) -> Any:
    return argument.default_value if argument.has_default_value() else None
