"""The readable records of a captured program: what ``g.nodes``, ``print(g)`` and ``debug_dump`` show."""

from __future__ import annotations

import dataclasses

import torch

from ._costs import flops, touched_bytes
from ._program import (
    AnyNode,
    ConstantNode,
    ControlNode,
    FusedNode,
    GeneratorNode,
    Node,
    Program,
    Value,
    changed,
    leaves,
)
from ._source import text

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
    """One node, for reading.

    ``step`` says how a replay does it: ``fused``, ``packed``, ``kernel``, ``shim``,
    ``dispatcher``, ``python``, ``generator`` or ``control``; empty where there is nothing to do.
    ``sources`` are the operators that a fused node stands for. ``flops`` counts the
    arithmetic of matrix products and convolutions alone, ``nbytes`` what the node
    reads and writes.
    """

    index: int
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    written: tuple[str, ...]  # the storages that it changes
    where: str
    random: bool
    step: str
    sources: tuple[str, ...]
    flops: int
    nbytes: int
    bodies: tuple[str, ...] = ()  # those that the node is in, outermost first: "if", "else", "test", "do"

    def __str__(self) -> str:
        made = ", ".join(self.outputs) or "-"
        inside = "".join(f"{body:<4} | " for body in self.bodies)
        return f"%{self.index}: {inside}{made} = {self.op}({', '.join(self.inputs)})"


class Recorded:
    """Makes the records of a program when they are asked for.

    It keeps the nodes and not the program, whose weak references would keep freed
    storages' headers.
    """

    def __init__(self, program: Program, weights: frozenset[int], steps: list[tuple[int, str]]) -> None:
        self._nodes: list[tuple[AnyNode, tuple[str, ...]]] = []
        _flatten(program.nodes, (), self._nodes)
        self._names = _names(program, weights)
        self._steps = dict(steps)
        self._records: tuple[NodeRecord, ...] | None = None

    def records(self) -> tuple[NodeRecord, ...]:
        if self._records is None:
            self._records = tuple(self._record(i, *each) for i, each in enumerate(self._nodes))
        return self._records

    def _record(self, index: int, node: AnyNode, bodies: tuple[str, ...]) -> NodeRecord:
        inputs, outputs = _read(node), _made(node)
        return NodeRecord(
            index=index,
            op=_operator(node),
            inputs=tuple(map(self._value, inputs)),
            outputs=tuple(map(self._value, outputs)),
            written=tuple(self._names[n] for n in sorted(_written(node))),
            where=text(node.where),
            random=isinstance(node, GeneratorNode) or (isinstance(node, Node) and node.random),
            step=self._steps.get(index, ""),
            sources=tuple(_operator(each) for each in node.sources) if isinstance(node, FusedNode) else (),
            flops=sum(flops(each) for each in _operations(node)),
            nbytes=0 if isinstance(node, (GeneratorNode, ControlNode)) else touched_bytes(node),
            bodies=bodies,
        )

    def _value(self, value: Value | int) -> str:
        """``t3:f32[4,8]``; with ``+16`` behind the name where it begins at the 16th element."""
        if isinstance(value, int):
            return self._names[value]
        dtype = _SHORT.get(value.dtype, str(value.dtype).removeprefix("torch."))
        start = f"+{value.offset}" if value.offset else ""
        return f"{self._names[value.storage]}{start}:{dtype}[{','.join(map(str, value.sizes))}]"


_BODIES = {"cond": ("if", "else"), "while": ("test", "do")}


def _flatten(
    nodes: list[AnyNode], bodies: tuple[str, ...], made: list[tuple[AnyNode, tuple[str, ...]]]
) -> None:
    """All nodes with the bodies that each is in; those of bodies behind the node that decides about them."""
    for node in nodes:
        made.append((node, bodies))
        if isinstance(node, ControlNode):
            for name, body in zip(_BODIES[node.kind], node.bodies, strict=True):
                _flatten(body, (*bodies, name), made)


def storage_of(name: str) -> str:
    """``t3`` of ``t3+16:f32[4]``."""
    return name.partition(":")[0].partition("+")[0]


def _names(program: Program, weights: frozenset[int]) -> list[str]:
    """By storage: ``x`` for memory from before the capture, ``w`` for weights among it, ``c`` for
    constants, ``y`` for what was made in the capture and is held by somebody, ``t`` for the rest."""
    names = []
    for storage in program.storages:
        if storage.constant:
            kind = "c"
        elif storage.owner is None:
            kind = "t" if storage.ref.expired() else "y"
        elif isinstance(storage.seen, torch.nn.Parameter) or storage.owner._cdata in weights:
            kind = "w"
        else:
            kind = "x"
        names.append(f"{kind}{storage.number}")
    return names


def _operator(node: AnyNode) -> str:
    if isinstance(node, Node):
        return str(node.op)
    if isinstance(node, FusedNode):
        return node.kernel
    if isinstance(node, ControlNode):
        return node.kind
    return f"generator.{node.action}" if isinstance(node, GeneratorNode) else "constant"


def _operations(node: AnyNode) -> tuple[Node, ...]:
    """The recorded nodes that it is, or stands for."""
    if isinstance(node, FusedNode):
        return node.sources
    return (node,) if isinstance(node, Node) else ()


def _read(node: AnyNode) -> list[Value]:
    if isinstance(node, Node):
        return leaves([node.args, list(node.kwargs.values())], Value)
    if isinstance(node, FusedNode):
        return [v for v in leaves(list(node.args), Value) if v not in node.outputs]
    return [node.predicate] if isinstance(node, ControlNode) else []


def _made(node: AnyNode) -> list[Value] | list[int]:
    if isinstance(node, (Node, FusedNode)):
        return leaves(node.outputs, Value)
    return [node.storage] if isinstance(node, ConstantNode) else []


def _written(node: AnyNode) -> frozenset[int]:
    if isinstance(node, (Node, FusedNode)):
        return node.written
    if isinstance(node, ControlNode):
        return changed(node)
    return frozenset((node.storage,)) if isinstance(node, ConstantNode) else frozenset()
