"""Softmax and log-softmax over the last dimension."""

from __future__ import annotations

import torch

from .._forms import bind
from .._program import FusedNode, Node, Program
from ._context import Context, making, rewrite_each
from ._layout import dense, is_float, rows

_aten = torch.ops.aten
_KINDS = {  # operator -> logarithm, safe
    _aten._softmax.default: (False, False),
    _aten._log_softmax.default: (True, False),
    _aten._safe_softmax.default: (False, True),
}


def apply(program: Program, context: Context) -> None:
    """Those of float32 rows go to the kernel."""
    rewrite_each(program, _fused)


def _fused(node: Node) -> FusedNode | None:
    if node.op not in _KINDS:
        return None
    given = bind(node.op, node.args, node.kwargs)
    x, out = given["self"], node.outputs
    if not x.sizes or given["dim"] % len(x.sizes) != len(x.sizes) - 1:
        return None
    layout = rows(x, 1)
    if layout is None or not is_float(x, out) or not dense(out):
        return None
    args = (x, out, layout.count, layout.width, layout.step, *_KINDS[node.op])
    return making("ostinato::softmax", args, out, (node,))
