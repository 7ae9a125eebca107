"""Lays the intermediates of a program out in one piece of memory, by lifetime."""

from __future__ import annotations

import dataclasses

from ._program import AnyNode, ConstantNode, ControlNode, FusedNode, Node, Program, Value, leaves, made

ALIGNMENT = 64  # what torch's own allocator gives, so that kernels see the alignment they saw at capture

Spans = dict[int, tuple[int, int]]


@dataclasses.dataclass(slots=True)
class _Body:
    """A part of a loop, and the time that it takes."""

    nodes: list[AnyNode]
    first: int
    last: int

    def keeps(self, number: int, spans: Spans) -> bool:
        """Whether the storage holds something before the body, or for the next round, or for after it."""
        first, last = spans[number]
        anew = any(number in made(node) for node in self.nodes)
        return not anew or first < self.first or last > self.last


def lifetimes(program: Program) -> Spans:
    """For each storage, when it is first and last touched.

    Time runs through the nodes, and through the bodies of each one after the other, so that the
    two of a condition share memory as any nodes do that follow one another. What a loop does not
    make anew in each round lives as long as the loop.
    """
    spans: Spans = {}
    loops: list[tuple[int, int, list[_Body]]] = []
    _visit(program.nodes, 0, spans, loops)
    for start, end, bodies in loops:
        for body in bodies:
            for number in {number for node in body.nodes for number in touched(node)}:
                if body.keeps(number, spans):
                    first, last = spans[number]
                    spans[number] = (min(first, start), max(last, end))
    return spans


def _visit(nodes: list[AnyNode], now: int, spans: Spans, loops: list[tuple[int, int, list[_Body]]]) -> int:
    for node in nodes:
        for number in touched_by_itself(node):
            spans[number] = (spans.get(number, (now, now))[0], now)
        start, now = now, now + 1
        if isinstance(node, ControlNode):
            bodies = []
            for body in node.bodies:
                first, now = now, _visit(body, now, spans, loops)
                bodies.append(_Body(body, first, now - 1))
            if node.kind == "while":
                loops.append((start, now, bodies))
                now += 1
    return now


def touched(node: AnyNode) -> set[int]:
    """The storages that a node, or one in its bodies, reads or writes."""
    numbers = touched_by_itself(node)
    if isinstance(node, ControlNode):
        numbers.update(number for body in node.bodies for inner in body for number in touched(inner))
    return numbers


def touched_by_itself(node: AnyNode) -> set[int]:
    """The storages that a node reads or writes, but for what its bodies do."""
    if isinstance(node, Node):
        values = leaves([node.args, list(node.kwargs.values()), node.outputs], Value)
        return {value.storage for value in values}
    if isinstance(node, FusedNode):
        return {value.storage for value in leaves([node.args, node.outputs], Value)}
    if isinstance(node, ConstantNode):
        return {node.storage}
    return {node.predicate.storage} if isinstance(node, ControlNode) else set()


def plan_offsets(sizes: dict[int, int], spans: dict[int, tuple[int, int]]) -> tuple[dict[int, int], int]:
    """Offsets in bytes for the given storages, and the bytes in all.

    Largest first, each at the lowest offset that no storage alive at the same
    time covers (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural
    Net Inference", 2020: greedy by size).
    """
    placed: list[tuple[int, int, int, int]] = []  # offset, end, first, last
    offsets: dict[int, int] = {}
    total = 0
    for number in sorted(sizes, key=lambda n: (-sizes[n], n)):
        first, last = spans[number]
        size = -(-max(sizes[number], 1) // ALIGNMENT) * ALIGNMENT
        offset = 0
        for start, end, other_first, other_last in placed:
            if other_first <= last and first <= other_last and offset + size > start:
                offset = max(offset, end)
        offsets[number] = offset
        placed.append((offset, offset + size, first, last))
        placed.sort()
        total = max(total, offset + size)
    return offsets, total
