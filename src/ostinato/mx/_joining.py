"""Products in a program by a matrix that ``mx_dequantize`` gives: ``mx_linear`` reads its blocks itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from .._lowering import arguments, call, erase, substitute
from ._ops import mx_dequantize, mx_linear

_aten = torch.ops.aten
_SAME = (_aten.alias.default, _aten.detach.default)
_Operands = tuple[Node, Node | None]  # x, bias


def join_products(program: ExportedProgram, weights: Mapping[Node, torch.Tensor]) -> None:
    """Where ``x @ w.t()`` with a bias or without is a product of ``mx_linear``, it becomes one."""
    for weight in program.graph.find_nodes(op="call_function", target=mx_dequantize):
        codes, scales, format, block_size, _, dtype = arguments(weight)
        if codes.meta["val"].dim() != 2:
            continue
        views = [*_views(weight)]
        for value, turned in views:
            for product in [*value.users]:
                operands = _operands(product, value, turned)
                if operands is None or not _takes(operands, codes.meta["val"].shape[0], dtype, weights):
                    continue
                x, bias = operands
                with program.graph.inserting_before(product):
                    made = call(program.graph, mx_linear, (x, codes, scales, bias, format, block_size))
                made.meta = {**product.meta, "val": made.meta["val"]}
                substitute(program, product, made)
                program.graph.erase_node(product)
        erase(value for value, _ in views)


def _views(weight: Node) -> Iterator[tuple[Node, bool]]:
    """The matrix, and all that is the matrix again or the matrix turned, which is told."""
    waiting = [(weight, False)]
    for value, turned in waiting:  # which grows
        yield value, turned
        for user in value.users:
            if user.target in _SAME:
                waiting.append((user, turned))
            elif _turns(user):
                waiting.append((user, not turned))


def _turns(node: Node) -> bool:
    if node.target is _aten.t.default:
        return True
    if node.target is _aten.transpose.int:
        return {each % 2 for each in node.args[1:]} == {0, 1}  # type: ignore[operator]
    return node.target is _aten.permute.default and [each % 2 for each in node.args[1]] == [1, 0]  # type: ignore


def _operands(product: Node, matrix: Node, turned: bool) -> _Operands | None:
    """``x`` and the bias of a product with ``matrix``; None where it is nothing of the kind."""
    target, args = product.target, product.args
    if product.kwargs:
        return None
    if target is _aten.linear.default and not turned:
        x, weight, bias = (*args, None)[:3]
    elif target in (_aten.mm.default, _aten.matmul.default) and turned:
        x, weight, bias = *args, None
    elif target is _aten.addmm.default and turned:
        bias, x, weight = args
    else:
        return None
    return (x, bias) if weight is matrix and x is not matrix else None  # type: ignore[return-value]


def _takes(operands: _Operands, rows: int, dtype: torch.dtype, weights: Mapping[Node, torch.Tensor]) -> bool:
    """Whether the kernel takes them. A bias must be a weight: of any other the size is only said."""
    x, bias = operands
    value = x.meta.get("val")
    if not isinstance(value, torch.Tensor) or value.dtype is not dtype or not value.dim():
        return False
    given = weights.get(bias) if bias is not None else None
    return bias is None or (given is not None and given.dtype is dtype and given.shape == (rows,))


__all__ = ["join_products"]
