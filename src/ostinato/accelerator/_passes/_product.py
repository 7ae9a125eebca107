"""What a recorded matrix product computes, and whether the product kernels take its operands."""

from __future__ import annotations

import dataclasses

import torch

from .._program import Node, Value
from ._layout import is_float

_aten = torch.ops.aten


@dataclasses.dataclass(slots=True)
class Product:
    """``start + a @ b``, of matrices or batches of them, as one recorded node computes it."""

    a: Value
    b: Value
    start: Value | None
    out: Value


def product_of(node: object) -> Product | None:
    """What ``node`` computes, where kernels take it; None for all else."""
    product = _read(node) if isinstance(node, Node) else None
    return product if product is not None and _takes(product) else None


def _read(node: Node) -> Product | None:
    if node.op in (_aten.mm.default, _aten.bmm.default):
        a, b = node.args
        return Product(a, b, None, node.outputs)
    if node.op in (_aten.addmm.default, _aten.baddbmm.default) and _plain_sum(node):
        start, a, b = node.args
        return Product(a, b, start, node.outputs)
    return None


def _plain_sum(node: Node) -> bool:
    return all(node.kwargs.get(factor, 1) == 1 for factor in ("beta", "alpha"))


def _takes(product: Product) -> bool:
    return (
        is_float(product.a, product.b, product.start, product.out)
        and (product.start is None or _startable(product.start, product.out))
        and 0 not in (*product.a.sizes, *product.b.sizes)
        and _rows(product.out)
    )


def _rows(value: Value) -> bool:
    """Whether the elements of each row lie side by side."""
    return value.strides[-1] == 1 or value.sizes[-1] == 1


def _startable(start: Value, out: Value) -> bool:
    """Whether the sums of ``out`` can start from these numbers: whole rows, one for all or one each."""
    if not start.sizes or start.sizes[-1] != out.sizes[-1] or len(start.sizes) > len(out.sizes):
        return False
    ahead = len(out.sizes) - len(start.sizes)
    pairs = zip(start.sizes, out.sizes[ahead:], strict=True)
    return all(own in (1, size) for own, size in pairs) and _rows(start)
