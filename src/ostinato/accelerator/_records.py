"""The readable record of a captured program: what ``g.nodes``, ``print(g)`` and ``debug_dump`` show."""

from __future__ import annotations

import dataclasses
import json

import torch

from ._program import ConstantNode, FusedNode, GeneratorNode, Node, Program, Value, leaves

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

    def __str__(self) -> str:
        made = ", ".join(self.outputs) or "-"
        return f"%{self.index}: {made} = {self.op}({', '.join(self.inputs)})  # {self.where}"


def _name(value: Value) -> str:
    dtype = _SHORT.get(value.dtype, str(value.dtype).removeprefix("torch."))
    return f"s{value.storage}:{dtype}[{','.join(map(str, value.sizes))}]"


def records(program: Program) -> tuple[NodeRecord, ...]:
    """A record for each node of ``program``."""
    made = []
    for index, node in enumerate(program.nodes):
        where = f"{node.where[0]}:{node.where[1]}"
        if isinstance(node, Node):
            inputs = leaves([node.args, list(node.kwargs.values())], Value)
            outputs = tuple(_name(v) for v in leaves(node.outputs, Value))
            record = NodeRecord(
                index,
                str(node.op),
                tuple(map(_name, inputs)),
                outputs,
                tuple(sorted(node.written)),
                where,
                node.random,
            )
        elif isinstance(node, FusedNode):
            inputs = [v for v in leaves(list(node.args), Value) if v not in node.outputs]
            made_by_it = tuple(map(_name, node.outputs))
            written = tuple(sorted(node.written))
            record = NodeRecord(
                index, node.kernel, tuple(map(_name, inputs)), made_by_it, written, where, False
            )
        elif isinstance(node, GeneratorNode):
            record = NodeRecord(index, f"generator.{node.action}", (), (), (), where, True)
        else:
            assert isinstance(node, ConstantNode)
            record = NodeRecord(index, "constant", (), (f"s{node.storage}",), (node.storage,), where, False)
        made.append(record)
    return tuple(made)


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
