"""Products by the packed kernel, with weights packed once; a ReLU that follows is their last instruction."""

from __future__ import annotations

import dataclasses

import torch

from .._program import FusedNode, Node, Program, Value
from ._context import Context, Edit, Uses

_aten = torch.ops.aten
# A matrix that changes is packed by each replay: enough rows must share it, and it should stay in a cache.
_LEAST_ROWS = 8
_MOST_PACKED = 1 << 19  # elements


@dataclasses.dataclass(slots=True)
class _Product:
    """``start + a @ weight``, as one recorded node computes it."""

    a: Value
    weight: Value
    start: Value | None
    out: Value


def apply(program: Program, context: Context) -> None:
    """Products of an activation and a weight go to the packed kernel, and so do those of a training step."""
    uses = Uses(program, context)
    edit = Edit(program)
    for index, node in enumerate(program.nodes):
        product = _product(node) if isinstance(node, Node) else None
        if product is None or not _takes(product):
            continue
        assert isinstance(node, Node)
        weight = context.is_weight(product.weight)
        if not weight and not _pays(product):
            continue
        relu = _relu_after(program, index, product.out, uses)
        if relu is None:
            edit.replace({index}, _fused(product, weight, product.out, (node,)), index)
        else:
            at, rectified, second = relu
            edit.replace({index, at}, _fused(product, weight, rectified, (node, second)), index)
    edit.apply()


def _product(node: Node) -> _Product | None:
    if node.op in (_aten.mm.default, _aten.bmm.default):
        a, weight = node.args
        return _Product(a, weight, None, node.outputs)
    if node.op is _aten.addmm.default and _plain_sum(node):
        start, a, weight = node.args
        return _Product(a, weight, start, node.outputs)
    return None


def _plain_sum(node: Node) -> bool:
    return all(node.kwargs.get(factor, 1) == 1 for factor in ("beta", "alpha"))


def _pays(product: _Product) -> bool:
    """Whether to pack the second matrix anew is little beside the product."""
    rows, columns = product.weight.sizes[-2:]
    few = len(product.out.sizes) == 2 and rows * columns <= _MOST_PACKED
    return few and product.out.sizes[0] >= _LEAST_ROWS


def _takes(product: _Product) -> bool:
    """Whether the kernel takes these values."""
    values = [product.a, product.weight, product.out]
    if product.start is not None:
        values.append(product.start)
        if not _startable(product.start, product.out):
            return False
    return (
        all(v.dtype == torch.float32 and not v.conj and not v.neg for v in values)
        and 0 not in (*product.a.sizes, *product.weight.sizes)
        and _rows(product.out)
    )


def _rows(value: Value) -> bool:
    """Whether the elements of each row lie side by side."""
    return value.strides[-1] == 1 or value.sizes[-1] == 1


def _startable(start: Value, out: Value) -> bool:
    """Whether the sums of ``out`` can start from these numbers: one row for all, or one each."""
    columns = out.sizes[-1]
    return start.sizes in ((columns,), (1, columns), out.sizes) and _rows(start)


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
    if not _same_elements(source, out):
        return None
    if node.op is _aten.relu_.default:
        return at, out, node
    result = node.outputs
    if not uses.private(out.storage, {index, at}) or not _packed(result):
        return None
    return at, dataclasses.replace(out, storage=result.storage, offset=result.offset), node


def _same_elements(a: Value, b: Value) -> bool:
    """Whether both are all of the same memory, in the same order."""
    return (
        a.storage == b.storage
        and a.offset == b.offset
        and _count(a) == _count(b)
        and _packed(a)
        and _packed(b)
    )


def _count(value: Value) -> int:
    return torch.Size(value.sizes).numel()


def _packed(value: Value) -> bool:
    """Whether the elements lie side by side in the order of their indexes."""
    expected = 1
    for size, stride in zip(reversed(value.sizes), reversed(value.strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _fused(product: _Product, weight: bool, out: Value, sources: tuple[Node, ...]) -> FusedNode:
    relu = len(sources) > 1
    made = frozenset((out.storage,))
    return FusedNode(
        kernel="ostinato::linear" if weight else "ostinato::product",
        args=(product.a, product.weight, product.start, relu, out),
        outputs=(out,),
        fresh=made,
        written=frozenset(),
        weights=(product.weight,) if weight else (),
        sources=sources,
    )
