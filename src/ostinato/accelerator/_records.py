"""The readable record of a captured program: what ``g.nodes``, ``print(g)`` and ``debug_dump`` show."""

from __future__ import annotations

import dataclasses
import json

import torch

from ._program import (
    AnyNode,
    ControlNode,
    FusedNode,
    GeneratorNode,
    Node,
    Program,
    Value,
    changed,
    leaves,
)

_SHORT = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.bool: "b1",
    torch.complex64: "c64",
    torch.complex128: "c128",
}


@dataclasses.dataclass(frozen=True)
class NodeRecord:
    """One node, for reading: operator, inputs, outputs and the line that ran it."""

    index: int
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    written: tuple[int, ...]
    where: str
    random: bool
    bodies: tuple[str, ...] = ()  # those that the node is in, outermost first: "if", "else", "test", "do"

    def __str__(self) -> str:
        made = ", ".join(self.outputs) or "-"
        inside = "".join(f"{body:<4} | " for body in self.bodies)
        return f"%{self.index}: {inside}{made} = {self.op}({', '.join(self.inputs)})  # {self.where}"


def _name(value: Value) -> str:
    dtype = _SHORT.get(value.dtype, str(value.dtype).removeprefix("torch."))
    return f"s{value.storage}:{dtype}[{','.join(map(str, value.sizes))}]"


_BODIES = {"cond": ("if", "else"), "while": ("test", "do")}


def records(program: Program) -> tuple[NodeRecord, ...]:
    """A record for each node of ``program``, those of bodies behind the node that decides about them."""
    made: list[NodeRecord] = []
    _append(made, program.nodes, ())
    return tuple(made)


def _append(made: list[NodeRecord], nodes: list[AnyNode], bodies: tuple[str, ...]) -> None:
    for node in nodes:
        made.append(_record(len(made), node, bodies))
        if isinstance(node, ControlNode):
            for name, body in zip(_BODIES[node.kind], node.bodies, strict=True):
                _append(made, body, (*bodies, name))


def _record(index: int, node: AnyNode, bodies: tuple[str, ...]) -> NodeRecord:
    op, inputs, outputs, written, random = _look(node)
    where = f"{node.where[0]}:{node.where[1]}"
    names = tuple(map(_name, inputs)), tuple(map(_name, outputs))
    return NodeRecord(index, op, *names, tuple(sorted(written)), where, random, bodies)


def _look(node: AnyNode) -> tuple[str, list[Value], list[Value], frozenset[int], bool]:
    """Operator, inputs, outputs, storages that it changes, and whether it draws numbers."""
    nothing = frozenset[int]()
    if isinstance(node, Node):
        inputs = leaves([node.args, list(node.kwargs.values())], Value)
        return str(node.op), inputs, leaves(node.outputs, Value), node.written, node.random
    if isinstance(node, FusedNode):
        inputs = [v for v in leaves(list(node.args), Value) if v not in node.outputs]
        return node.kernel, inputs, list(node.outputs), node.written, False
    if isinstance(node, ControlNode):
        return node.kind, [node.predicate], [], changed(node), False
    if isinstance(node, GeneratorNode):
        return f"generator.{node.action}", [], [], nothing, True
    whole = Value(node.storage, torch.uint8, (node.content.numel(),), (1,), 0)
    return "constant", [], [whole], frozenset((node.storage,)), False


def to_dot(nodes: tuple[NodeRecord, ...]) -> str:
    """The program in the Graphviz language: a box a node, an arrow a storage read after it was written."""
    lines = ["digraph ostinato {", "  node [shape=box, fontname=monospace];"]
    last: dict[str, int] = {}
    for node in nodes:
        lines.append(f"  n{node.index} [label={json.dumps(node.op)}];")
        for name in node.inputs:
            storage = name.split(":")[0]
            if storage in last:
                lines.append(f"  n{last[storage]} -> n{node.index} [label={json.dumps(name)}];")
        for storage in [n.split(":")[0] for n in node.outputs] + [f"s{w}" for w in node.written]:
            last[storage] = node.index
    return "\n".join([*lines, "}", ""])
