"""Lays the intermediates of a program out in one piece of memory, by lifetime."""

from __future__ import annotations

from ._program import AnyNode, ConstantNode, FusedNode, Node, Program, Value, leaves

ALIGNMENT = 64  # what torch's own allocator gives, so that kernels see the alignment they saw at capture


def lifetimes(program: Program) -> dict[int, tuple[int, int]]:
    """For each storage, the first and the last node that touches it."""
    spans: dict[int, tuple[int, int]] = {}
    for index, node in enumerate(program.nodes):
        for number in touched(node):
            first, _ = spans.get(number, (index, index))
            spans[number] = (first, index)
    return spans


def touched(node: AnyNode) -> set[int]:
    """The storages that a node reads or writes."""
    if isinstance(node, Node):
        values = leaves([node.args, list(node.kwargs.values()), node.outputs], Value)
        return {value.storage for value in values}
    if isinstance(node, FusedNode):
        return {value.storage for value in leaves([node.args, node.outputs], Value)}
    if isinstance(node, ConstantNode):
        return {node.storage}
    return set()


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
