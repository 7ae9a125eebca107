"""Padding of the last dimension: with a number, with the last element, or with what lies before it."""

from __future__ import annotations

import torch

from .._forms import bind
from .._program import FusedNode, Node, Program
from ._context import Context, making, rewrite_each
from ._layout import dense, is_float, rows

_aten = torch.ops.aten
_MODES = {  # as in csrc/kernels/pad.h
    _aten.constant_pad_nd.default: 0,
    _aten.reflection_pad1d.default: 1,
    _aten.replication_pad1d.default: 2,
}


def apply(program: Program, context: Context) -> None:
    """Of float32 rows, each such node becomes one call of the kernel."""
    rewrite_each(program, _fused)


def _fused(node: Node) -> FusedNode | None:
    if node.op not in _MODES:
        return None
    given = bind(node.op, node.args, node.kwargs)
    x, out = given["self"], node.outputs
    pad: list[int] = given["pad" if node.op is _aten.constant_pad_nd.default else "padding"]
    layout = rows(x, 1) if x.sizes else None
    if layout is None or len(pad) != 2 or min(pad) < 0 or not is_float(x, out) or not dense(out):
        return None
    if out.storage not in node.fresh:
        return None
    value = float(given.get("value") or 0.0)
    args = (x, out, layout.count, layout.width, layout.step, *pad, _MODES[node.op], value)
    return making("ostinato::pad", args, out, (node,))


__all__ = ["apply"]
