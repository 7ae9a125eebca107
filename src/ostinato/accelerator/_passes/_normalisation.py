"""Layer norm, group norm and RMS norm in one walk over each row; a sum that comes before is part of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch

from .._forms import bind
from .._program import FusedNode, Node, Program, Value
from . import _rms_norm
from ._context import Context, Edit, Uses
from ._layout import Rows, dense, is_float, rows

_aten = torch.ops.aten


@dataclasses.dataclass(slots=True)
class _Norm:
    """What the kernel is asked for, and the recorded nodes that it stands for."""

    kernel: str
    x: Value
    weight: Value | None
    bias: Value | None
    out: Value
    layout: Rows
    epsilon: float
    nodes: tuple[int, ...]
    mean: Value | None = None
    rstd: Value | None = None
    run: int = 1
    period: int = 1
    residual: Value | None = None
    sum: Value | None = None

    def fused(self, program: Program) -> FusedNode:
        outputs = tuple(v for v in (self.sum, self.out, self.mean, self.rstd) if v is not None)
        tensors = (self.x, self.residual, self.sum, self.weight, self.bias, self.out, self.mean, self.rstd)
        layout = (self.layout.count, self.layout.width, self.layout.step)
        centred = self.kernel != "rms_norm"
        return FusedNode(
            kernel=f"ostinato::{self.kernel}",
            args=(*tensors, *layout, self.epsilon, centred, self.run, self.period),
            outputs=outputs,
            fresh=frozenset(v.storage for v in outputs),
            written=frozenset(),
            weights=(),
            sources=tuple(n for n in (program.nodes[i] for i in self.nodes) if isinstance(n, Node)),
        )


def apply(program: Program, context: Context) -> None:
    """Every normalisation of float32 rows goes to the kernel."""
    uses = Uses(program, context)
    edit = Edit(program)
    for index, node in enumerate(program.nodes):
        make = _KINDS.get(node.op) if isinstance(node, Node) else None
        norm = make(program, index, uses) if make is not None else None
        if norm is not None and _takes(norm):
            at = _take_sum(program, norm, uses, edit)
            edit.replace(set(norm.nodes), norm.fused(program), norm.nodes[-1] if at is None else at)
    edit.apply()


def _takes(norm: _Norm) -> bool:
    values = (norm.weight, norm.bias, norm.out, norm.mean, norm.rstd)
    return is_float(norm.x, *values) and dense(*values)


def _layer_norm(program: Program, index: int, uses: Uses) -> _Norm | None:
    node = program.nodes[index]
    assert isinstance(node, Node)
    given = bind(node.op, node.args, node.kwargs)
    out, mean, rstd = node.outputs
    layout = rows(given["input"], len(given["normalized_shape"]))
    if layout is None:
        return None
    return _Norm(
        kernel="layer_norm",
        x=given["input"],
        weight=given["weight"],
        bias=given["bias"],
        out=out,
        layout=layout,
        epsilon=given["eps"],
        nodes=(index,),
        mean=_if_read(mean, index, uses),
        rstd=_if_read(rstd, index, uses),
    )


def _group_norm(program: Program, index: int, uses: Uses) -> _Norm | None:
    node = program.nodes[index]
    assert isinstance(node, Node)
    given = bind(node.op, node.args, node.kwargs)
    out, mean, rstd = node.outputs
    if not dense(given["input"]) or 0 in given["input"].sizes:
        return None
    width = given["C"] // given["group"] * given["HxW"]
    return _Norm(
        kernel="group_norm",
        x=given["input"],
        weight=given["weight"],
        bias=given["bias"],
        out=out,
        layout=Rows(given["N"] * given["group"], width, width),
        epsilon=given["eps"],
        nodes=(index,),
        mean=_if_read(mean, index, uses),
        rstd=_if_read(rstd, index, uses),
        run=given["HxW"],
        period=given["group"],
    )


def _if_read(value: Value, index: int, uses: Uses) -> Value | None:
    """``value``, unless node ``index`` is all that ever touches it."""
    return None if uses.private(value.storage, {index}) else value


def _root_mean_square(program: Program, index: int, uses: Uses) -> _Norm | None:
    found = _rms_norm.find(program, index, uses)
    if found is None or (layout := rows(found.x, found.dims)) is None:
        return None
    return _Norm(
        kernel="rms_norm",
        x=found.x,
        weight=found.weight,
        bias=None,
        out=found.out,
        layout=layout,
        epsilon=found.epsilon,
        nodes=tuple(found.nodes),
    )


_KINDS: dict[object, Callable[[Program, int, Uses], _Norm | None]] = {
    _aten.native_layer_norm.default: _layer_norm,
    _aten.native_group_norm.default: _group_norm,
    _aten.pow.Tensor_Scalar: _root_mean_square,
    _aten.mul.Tensor: _root_mean_square,
}


def _take_sum(program: Program, norm: _Norm, uses: Uses, edit: Edit) -> int | None:
    """Where ``norm`` is of a sum of two tensors of one shape, lets it do the sum too; returns its index."""
    first, last = norm.nodes[0], norm.nodes[-1]
    makers = [i for i in uses.changing(norm.x.storage) if i < last]
    if len(makers) != 1 or makers[0] >= first or edit.replaced(makers[0]):
        return None
    (index,) = makers
    node = program.nodes[index]
    if not isinstance(node, Node) or node.op is not _aten.add.Tensor or node.kwargs.get("alpha", 1) != 1:
        return None
    a, b = node.args
    if not isinstance(a, Value) or not isinstance(b, Value) or node.outputs != norm.x:
        return None
    if a.sizes != b.sizes or not is_float(a, b) or not dense(a, b, norm.x):
        return None
    read = [v for v in (norm.weight, norm.bias) if v is not None]
    if any(uses.changed_between(v.storage, index, first) for v in read):
        return None
    norm.x, norm.residual, norm.sum = a, b, norm.x
    norm.nodes = (index, *norm.nodes)
    return index
