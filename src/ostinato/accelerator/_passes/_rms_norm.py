"""Finds an RMS norm in its recorded parts: ``x * rsqrt(mean(x ** 2) + epsilon) * weight``."""

from __future__ import annotations

import dataclasses

import torch

from .._forms import bind
from .._program import Node, Program, Value
from ._context import Uses

_aten = torch.ops.aten
_ADDITIONS = (_aten.add.Scalar, _aten.add_.Scalar, _aten.add.Tensor, _aten.add_.Tensor)


@dataclasses.dataclass(slots=True)
class Found:
    """An RMS norm of ``x`` over its last ``dims`` dimensions."""

    x: Value
    weight: Value | None
    out: Value
    dims: int
    epsilon: float
    nodes: list[int]


class _Chain:
    """Nodes that each read what the one before made."""

    def __init__(self, program: Program, uses: Uses, index: int) -> None:
        self._program, self._uses = program, uses
        self.indexes = [index]

    @property
    def last(self) -> Node:
        node = self._program.nodes[self.indexes[-1]]
        assert isinstance(node, Node)
        return node

    def follow(self, *ops: object) -> Node | None:
        """Goes on to the next node that touches the last result, where it is one of these operators."""
        later = [i for i in self._uses.touching(self.last.outputs.storage) if i > self.indexes[-1]]
        node = self._program.nodes[later[0]] if later else None
        if not isinstance(node, Node) or node.op not in ops:
            return None
        self.indexes.append(later[0])
        return node

    def private(self) -> bool:
        """Whether nobody else sees what comes before the last result."""
        nodes = set(self.indexes)
        before = [self._program.nodes[i] for i in self.indexes[:-1]]
        return all(self._uses.private(n.outputs.storage, nodes) for n in before if isinstance(n, Node))

    def unchanged(self, value: Value) -> bool:
        """Whether ``value`` is the same from the first node to the last."""
        return not self._uses.changed_between(value.storage, self.indexes[0] - 1, self.indexes[-1] + 1)


def find(program: Program, index: int, uses: Uses) -> Found | None:
    """The RMS norm whose square is node ``index``, if it is one and nobody else sees its parts."""
    chain = _Chain(program, uses, index)
    x = _squared(chain.last)
    if x is None or chain.last.outputs.sizes != x.sizes:
        return None
    dims = _dims_of_mean(chain, x)
    epsilon = _added(chain) if dims else None
    if epsilon is None:
        return None
    shifted = chain.last.outputs
    root = chain.follow(_aten.rsqrt.default)
    if root is None or root.args[0] != shifted:
        return None
    if chain.follow(_aten.mul.Tensor) is None or _factor(chain.last, root.outputs) != x:
        return None
    weight = _weight(chain, x.sizes[len(x.sizes) - dims :])
    if not chain.private() or not chain.unchanged(x) or (weight is not None and not chain.unchanged(weight)):
        return None
    return Found(x, weight, chain.last.outputs, dims, epsilon, chain.indexes)


def _squared(node: Node) -> Value | None:
    x, other = node.args
    squares = other == 2 if node.op is _aten.pow.Tensor_Scalar else x == other
    return x if squares and isinstance(x, Value) else None


def _dims_of_mean(chain: _Chain, x: Value) -> int:
    """Over how many last dimensions the mean goes; 0 where it is none of the sort."""
    square = chain.last.outputs
    node = chain.follow(_aten.mean.dim)
    given = {} if node is None else bind(node.op, node.args, node.kwargs)
    if not x.sizes or not given or given["self"] != square or not given["keepdim"] or not given["dim"]:
        return 0
    if given["dtype"] not in (None, torch.float32):
        return 0
    dims = sorted(d % len(x.sizes) for d in given["dim"])
    return len(dims) if dims == list(range(len(x.sizes) - len(dims), len(x.sizes))) else 0


def _added(chain: _Chain) -> float | None:
    before = chain.last.outputs
    node = chain.follow(*_ADDITIONS)
    if node is None:
        return None
    x, number = node.args[:2]
    plain = x == before and isinstance(number, (int, float)) and len(node.args) == 2 and not node.kwargs
    return float(number) if plain else None


def _factor(node: Node, known: Value) -> object:
    """What a product multiplies ``known`` by."""
    a, b = node.args
    return b if a == known else a if b == known else None


def _weight(chain: _Chain, sizes: tuple[int, ...]) -> Value | None:
    """Goes on to a product with a weight of these sizes, where one follows."""
    scaled, length = chain.last.outputs, len(chain.indexes)
    node = chain.follow(_aten.mul.Tensor)
    weight = None if node is None else _factor(node, scaled)
    if isinstance(weight, Value) and weight.sizes == sizes:
        return weight
    del chain.indexes[length:]
    return None
