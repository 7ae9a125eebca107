"""Products by the packed kernel, with weights packed once; a ReLU that follows is their last instruction."""

from __future__ import annotations

import dataclasses

import torch

from .._program import FusedNode, Node, Program, Value
from ._context import Context, Edit, Uses, making
from ._layout import dense, same_elements
from ._product import Product, product_of

_aten = torch.ops.aten


def apply(program: Program, context: Context) -> None:
    """Weights are packed once, what changes by each replay, or torch multiplies where that is faster."""
    uses = Uses(program, context)
    edit = Edit(program)
    for index, node in enumerate(program.nodes):
        product = product_of(node)
        if product is None:
            continue
        assert isinstance(node, Node)
        weight = _stays(product, context)
        relu = _relu_after(program, index, product.out, uses)
        if relu is None:
            edit.replace({index}, _fused(product, weight, product.out, (node,)), index)
        else:
            at, rectified, second = relu
            edit.replace({index, at}, _fused(product, weight, rectified, (node, second)), index)
    edit.apply()


def _stays(product: Product, context: Context) -> bool:
    """Whether the right side is a weight that is packed once, for a step that takes it so."""
    return context.is_weight(product.b) and (product.start is None or len(product.out.sizes) == 2)


def _relu_after(program: Program, index: int, out: Value, uses: Uses) -> tuple[int, Value, Node] | None:
    """The ReLU that comes next, as index, result and node, if nobody sees what it is given."""
    touching = [i for i in uses.touching(out.storage) if i > index]
    if not touching:
        return None
    at = touching[0]
    node = program.nodes[at]
    if not isinstance(node, Node) or node.op not in (_aten.relu.default, _aten.relu_.default):
        return None
    (source,) = node.args
    if not same_elements(source, out):
        return None
    if node.op is _aten.relu_.default:
        return at, out, node
    result = node.outputs
    if not uses.private(out.storage, {index, at}) or not dense(result):
        return None
    return at, dataclasses.replace(out, storage=result.storage, offset=result.offset), node


def _fused(product: Product, weight: bool, out: Value, sources: tuple[Node, ...]) -> FusedNode:
    relu = len(sources) > 1
    args = (product.a, product.b, product.start, relu, out)
    if weight:
        return making("ostinato::linear", args, out, sources, weights=(product.b,))
    return making("ostinato::product", args, out, sources)
