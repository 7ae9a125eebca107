"""Does without copies: where the original and the copy may be one memory, they become so.

A copy of a dense tensor to a dense tensor (``clone``, a ``cat`` or ``stack`` whose
parts lie behind each other) moves bytes in their order. If neither side is changed
afterwards, the part is made in the copy's place from the start; or, where the
original cannot move, the readers of the copy read the original.
"""

from __future__ import annotations

import dataclasses
import math

import torch

from .._program import FusedNode, Node, Program, Value, leaves, map_tensors
from ._context import Context, Uses

_CLONES = {torch.ops.aten.clone.default, torch.ops.aten._to_copy.default}
_JOINS = {torch.ops.aten.cat.default, torch.ops.aten.stack.default}


@dataclasses.dataclass(slots=True)
class _Move:
    """Bytes of storage ``source`` from ``start`` on are storage ``target`` from ``to`` on."""

    source: int
    start: int  # in elements of the copied dtype
    target: int
    to: int


def apply(program: Program, context: Context) -> None:
    """Removes such copies one by one, since each changes what can be said of the next."""
    index = 0
    while index < len(program.nodes):
        node = program.nodes[index]
        moves = _moves(node, index, program, context) if isinstance(node, Node) else None
        if moves is None:
            index += 1
            continue
        del program.nodes[index]
        rename = {move.source: move for move in moves}
        program.nodes = [
            _renamed(n, rename) if isinstance(n, (Node, FusedNode)) else n for n in program.nodes
        ]


def _moves(node: Node, index: int, program: Program, context: Context) -> list[_Move] | None:
    """How to do without ``node``; None where it must stay."""
    pairs = _pairs(node)
    if pairs is None or node.written or node.random:
        return None
    uses = Uses(program, context)
    out = pairs[0][1].storage
    if uses.changing(out) != [index]:
        return None
    forward = [_Move(p.storage, p.offset, c.storage, c.offset) for p, c in pairs]
    if len({m.source for m in forward}) == len(forward) and all(
        _may_move(p, index, uses, program, context) for p, _ in pairs
    ):
        return forward
    part, copy = pairs[0]
    if (
        len(pairs) == 1
        and not context.held(out)
        and _one_dtype(copy, uses.touching(out), program)
        and not _changed_while_read(part.storage, out, index, uses)
    ):
        return [_Move(copy.storage, copy.offset, part.storage, part.offset)]
    return None


def _pairs(node: Node) -> list[tuple[Value, Value]] | None:
    """Each dense part with the dense region of the output that it is copied to; None for no such copy."""
    out = node.outputs
    if not isinstance(out, Value) or out.storage not in node.fresh:
        return None
    if node.op in _CLONES:
        parts = [node.args[0]]
    elif node.op in _JOINS:
        parts = list(node.args[0])
    else:
        return None
    if any(not _same_kind(part, out) or not _dense(part) for part in parts) or not _dense(out):
        return None
    if node.op in _CLONES:
        return [(parts[0], out)] if _order(parts[0]) == _order(out) else None
    return _joined(parts, out, _dimension(node, out), node.op is torch.ops.aten.stack.default)


def _joined(parts: list[Value], out: Value, dim: int, stacks: bool) -> list[tuple[Value, Value]] | None:
    if any(size != 1 for size in out.sizes[:dim]) or not _contiguous(out):
        return None
    offset, pairs = out.offset, []
    for part in parts:
        if not _contiguous(part) or (len(part.sizes) + stacks != len(out.sizes)):
            return None
        pairs.append((part, dataclasses.replace(out, offset=offset)))
        offset += math.prod(part.sizes)
    return pairs


def _dimension(node: Node, out: Value) -> int:
    dim = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
    return int(dim) % max(len(out.sizes), 1)


def _same_kind(part: object, out: Value) -> bool:
    if not isinstance(part, Value) or part.dtype is not out.dtype:
        return False
    return not (part.conj or part.neg or out.conj or out.neg) and math.prod(part.sizes) > 0


def _contiguous(value: Value) -> bool:
    return _dense(value) and _order(value) == [d for d in range(len(value.sizes)) if value.sizes[d] != 1]


def _order(value: Value) -> list[int]:
    """The dimensions from the slowest to the fastest, without those of length 1."""
    dims = [d for d in range(len(value.sizes)) if value.sizes[d] != 1]
    return sorted(dims, key=lambda d: -value.strides[d])


def _dense(value: Value) -> bool:
    """Whether the elements lie one behind the other, in some order of the dimensions."""
    expected = 1
    for d in reversed(_order(value)):
        if value.strides[d] != expected:
            return False
        expected *= value.sizes[d]
    return True


def _may_move(part: Value, index: int, uses: Uses, program: Program, context: Context) -> bool:
    """Whether the program makes the part's storage for itself, all of it, and never changes it later."""
    storage = program.storages[part.storage]
    touching = uses.touching(part.storage)
    first = program.nodes[touching[0]]
    return (
        storage.owner is None
        and not context.held(part.storage)
        and isinstance(first, (Node, FusedNode))
        and part.storage in first.fresh
        and touching[0] < index
        and part.offset == 0
        and storage.nbytes == math.prod(part.sizes) * part.dtype.itemsize
        and all(changed < index for changed in uses.changing(part.storage))
        and _one_dtype(part, touching, program)
    )


def _one_dtype(part: Value, touching: list[int], program: Program) -> bool:
    """Whether all look at the storage as elements of one size: offsets can then be moved."""
    nodes = (program.nodes[i] for i in touching)
    values = (v for n in nodes if isinstance(n, (Node, FusedNode)) for v in _values(n))
    return all(v.dtype.itemsize == part.dtype.itemsize for v in values if v.storage == part.storage)


def _values(node: Node | FusedNode) -> list[Value]:
    kwargs = list(node.kwargs.values()) if isinstance(node, Node) else []
    return leaves([node.args, kwargs, node.outputs], Value)


def _changed_while_read(source: int, copy: int, index: int, uses: Uses) -> bool:
    return uses.changed_between(source, index, uses.touching(copy)[-1] + 1)


def _renamed(node: Node | FusedNode, moves: dict[int, _Move]) -> Node | FusedNode:
    if not any(v.storage in moves for v in _values(node)):
        return node

    def value(v: Value) -> Value:
        move = moves.get(v.storage)
        if move is None:
            return v
        return dataclasses.replace(v, storage=move.target, offset=v.offset - move.start + move.to)

    def numbers(storages: frozenset[int]) -> frozenset[int]:
        return frozenset(moves[n].target if n in moves else n for n in storages)

    changed = {
        "args": map_tensors(node.args, value, Value),
        "outputs": map_tensors(node.outputs, value, Value),
        "fresh": numbers(node.fresh),
        "written": numbers(node.written),
    }
    if isinstance(node, Node):
        changed["kwargs"] = {k: map_tensors(v, value, Value) for k, v in node.kwargs.items()}
    else:
        changed["weights"] = map_tensors(node.weights, value, Value)
    return dataclasses.replace(node, **changed)
