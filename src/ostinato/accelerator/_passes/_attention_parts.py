"""Attention that was written by hand: products, a softmax between them, what scales and masks it."""

from __future__ import annotations

import dataclasses
import math

import torch

from .._forms import bind
from .._program import Node, Program, Value
from ._context import Uses
from ._layout import dense, expanded, same_elements
from ._product import Product, product_of

_aten = torch.ops.aten
_Four = tuple[int, int, int, int]


@dataclasses.dataclass(slots=True)
class Parts:
    """What of it the kernel is given, and the nodes that it stands for."""

    q: Value
    k: Value
    v: Value
    mask: Value | None
    out: Value
    scale: float
    nodes: set[int]
    at: int  # the node in whose place it computes


def parts_around(program: Program, softmax: int, uses: Uses) -> Parts | None:
    """The attention whose weights the node ``softmax`` computes, if nobody looks into it."""
    return _Finder(program, uses).around(softmax)


@dataclasses.dataclass(slots=True)
class _Scores:
    """``scale * a @ b + mask``, as far as it is known, from the softmax backwards."""

    scale: float = 1.0
    mask: Value | None = None
    mask_sizes: tuple[int, ...] = ()  # of what it was added to
    shapes: set[tuple[int, ...]] = dataclasses.field(default_factory=set)  # in which they were seen

    def heads(self, product: Product) -> tuple[int, int] | None:
        """Batch and heads, as all of four dimensions has them; None where the rows are others."""
        count, *matrix = product.out.sizes
        if any(list(shape[-2:]) != matrix for shape in self.shapes):
            return None
        found = {shape[:2] for shape in self.shapes if len(shape) == 4} or {(1, count)}
        if len(found) > 1:
            return None
        batch, heads = found.pop()
        return batch, heads


class _Finder:
    def __init__(self, program: Program, uses: Uses) -> None:
        self._program = program
        self._uses = uses
        self._nodes: set[int] = set()
        self._read: list[tuple[Value, int]] = []  # from outside, by which node

    def around(self, softmax: int) -> Parts | None:
        node = self._program.nodes[softmax]
        if not isinstance(node, Node) or node.op is not _aten._softmax.default:
            return None
        given = bind(node.op, node.args, node.kwargs)
        scores, weights = given["self"], node.outputs
        dims = len(scores.sizes)
        if dims not in (3, 4) or given["dim"] % dims != dims - 1 or not dense(scores, weights):
            return None
        self._nodes.add(softmax)
        after = self._only_reader(weights, softmax)
        found = self._scores(scores, softmax)
        if after is None or found is None:
            return None
        second = product_of(self._program.nodes[after])
        first, first_at, known = found
        if second is None or second.start is not None or not same_elements(second.a, weights):
            return None
        split = known.heads(first)
        if split is None or second.a.sizes != first.out.sizes or not dense(second.out):
            return None
        self._nodes.add(after)
        batch, heads = split
        q, q_factor = self._operand(first.a, first_at, split)
        k, k_factor = self._operand(first.b, first_at, split)
        v, v_reader = self._original(second.b, after, split)
        self._read.append((v, v_reader))
        mask = _mask(known, (batch, heads, first.out.sizes[1], first.out.sizes[2]))
        if known.mask is not None and mask is None:
            return None
        out = self._transposed_copy(second.out, after, batch, heads) or _four(second.out, batch, heads)
        if any(self._uses.changed_between(value.storage, by, after) for value, by in self._read):
            return None
        scale = known.scale * q_factor * k_factor
        return Parts(q, _exchanged(k, 2, 3), v, mask, out, scale, self._nodes, after)

    def _only_reader(self, value: Value, index: int) -> int | None:
        """The node that alone touches what node ``index`` has made."""
        touching = self._uses.touching(value.storage)
        if len(touching) != 2 or touching[0] != index or not self._uses.private(value.storage, set(touching)):
            return None
        return touching[1]

    def _maker(self, value: Value, reader: int) -> int | None:
        """The node that has made ``value`` for ``reader`` alone."""
        touching = self._uses.touching(value.storage)
        return touching[0] if touching and self._only_reader(value, touching[0]) == reader else None

    def _scores(self, value: Value, reader: int) -> tuple[Product, int, _Scores] | None:
        """The first product, its node, and what was done to it until ``reader`` has read ``value``."""
        known = _Scores()
        while True:
            index = self._maker(value, reader)
            node = self._program.nodes[index] if index is not None else None
            if index is None or not isinstance(node, Node) or not isinstance(node.outputs, Value):
                return None
            if not same_elements(value, node.outputs):
                return None
            known.shapes |= {value.sizes, node.outputs.sizes}
            self._nodes.add(index)
            product = product_of(node)
            if product is not None:
                return self._end(product, index, known)
            source = self._pointwise(node, index, known)
            if source is None or source.sizes != node.outputs.sizes or not dense(source):
                return None
            value, reader = source, index

    def _end(self, product: Product, index: int, known: _Scores) -> tuple[Product, int, _Scores] | None:
        if len(product.out.sizes) != 3:
            return None
        if product.start is not None:
            if known.mask is not None or known.scale != 1:
                return None
            self._mask_at(known, product.start, product.out.sizes, index)
        return product, index, known

    def _pointwise(self, node: Node, index: int, known: _Scores) -> Value | None:
        factor = _factor(node)
        if factor is not None:
            known.scale *= factor
            return node.args[0]  # type: ignore[no-any-return]
        if node.op is not _aten.add.Tensor or known.mask is not None or known.scale != 1 or node.kwargs:
            return None
        source, mask = node.args
        if not isinstance(mask, Value) or not isinstance(source, Value) or source.sizes != node.outputs.sizes:
            return None
        self._mask_at(known, mask, node.outputs.sizes, index)
        return source

    def _mask_at(self, known: _Scores, mask: Value, sizes: tuple[int, ...], index: int) -> None:
        known.mask, known.mask_sizes = mask, sizes
        self._read.append((mask, index))

    def _operand(self, value: Value, reader: int, split: tuple[int, int]) -> tuple[Value, float]:
        """What ``value`` is a multiple and a copy of, where that was made for ``reader`` alone."""
        value, reader, outer = self._unscaled(value, reader)
        value, reader = self._original(value, reader, split)
        value, reader, inner = self._unscaled(value, reader)
        self._read.append((value, reader))
        return value, outer * inner

    def _unscaled(self, value: Value, reader: int) -> tuple[Value, int, float]:
        index = self._maker(value, reader)
        node = self._program.nodes[index] if index is not None else None
        factor = _factor(node) if isinstance(node, Node) else None
        if index is None or not isinstance(node, Node) or factor is None:
            return value, reader, 1.0
        source = node.args[0]
        if node.outputs != value or source.sizes != value.sizes:
            return value, reader, 1.0
        self._nodes.add(index)
        return source, index, factor

    def _original(self, value: Value, reader: int, split: tuple[int, int]) -> tuple[Value, int]:
        """``value`` with four dimensions, or what it was copied from."""
        index = self._maker(value, reader)
        node = self._program.nodes[index] if index is not None else None
        if index is not None and isinstance(node, Node) and node.op is _aten.clone.default:
            source, copy = node.args[0], node.outputs
            if source.sizes == (*split, *value.sizes[1:]) and same_elements(copy, value):
                self._nodes.add(index)
                return source, index
        return _four(value, *split), reader

    def _transposed_copy(self, out: Value, index: int, batch: int, heads: int) -> Value | None:
        """The copy that puts heads side by side, seen like ``out``, where it alone reads that."""
        at = self._only_reader(out, index)
        node = self._program.nodes[at] if at is not None else None
        if at is None or not isinstance(node, Node) or node.op is not _aten.clone.default:
            return None
        source, copy = node.args[0], node.outputs
        if source.dtype != copy.dtype or not dense(copy):
            return None
        if _exchanged(source, 1, 2) == _four(out, batch, heads):
            self._nodes.add(at)
            return _exchanged(copy, 1, 2)
        if len(source.sizes) == 3 and _exchanged(source, 0, 1) == out:
            self._nodes.add(at)
            return _four(_exchanged(copy, 0, 1), batch, heads)
        return None


def _factor(node: Node) -> float | None:
    """The finite number that the first argument is multiplied by; None where the node does something else."""
    if node.op not in (_aten.mul.Tensor, _aten.div.Tensor) or node.kwargs or len(node.args) != 2:
        return None
    value, number = node.args
    if not isinstance(value, Value) or isinstance(number, bool) or not isinstance(number, (int, float)):
        return None
    if not math.isfinite(number) or number <= 0:
        return None
    factor = 1 / number if node.op is _aten.div.Tensor else float(number)
    return factor if math.isfinite(factor) else None


def _four(value: Value, batch: int, heads: int) -> Value:
    """Matrices with batch and heads in one dimension as four dimensions."""
    count, *rest = value.strides
    return dataclasses.replace(
        value, sizes=(batch, heads, *value.sizes[1:]), strides=(count * heads, count, *rest)
    )


def _exchanged(value: Value, i: int, j: int) -> Value:
    if j >= len(value.sizes):
        return value
    order = list(range(len(value.sizes)))
    order[i], order[j] = j, i
    return dataclasses.replace(
        value,
        sizes=tuple(value.sizes[d] for d in order),
        strides=tuple(value.strides[d] for d in order),
    )


def _mask(known: _Scores, sizes: _Four) -> Value | None:
    if known.mask is None:
        return None
    wide = expanded(known.mask, known.mask_sizes)
    if wide is None:
        return None
    if len(known.mask_sizes) == 4:
        return wide if wide.sizes == sizes else None
    count, *rest = wide.strides
    return dataclasses.replace(wide, sizes=sizes, strides=(count * sizes[1], count, *rest))
