"""Softmax and log-softmax over the last dimension."""

from __future__ import annotations

import torch

from .._forms import bind
from .._program import FusedNode, Node, Program
from ._context import Context, Edit
from ._layout import dense, is_float, rows

_aten = torch.ops.aten
_KINDS = {  # operator -> logarithm, safe
    _aten._softmax.default: (False, False),
    _aten._log_softmax.default: (True, False),
    _aten._safe_softmax.default: (False, True),
}


def apply(program: Program, context: Context) -> None:
    """Those of float32 rows go to the kernel."""
    edit = Edit(program)
    for index, node in enumerate(program.nodes):
        if isinstance(node, Node) and node.op in _KINDS and (fused := _fused(node)) is not None:
            edit.replace({index}, fused, index)
    edit.apply()


def _fused(node: Node) -> FusedNode | None:
    given = bind(node.op, node.args, node.kwargs)
    x, out = given["self"], node.outputs
    if not x.sizes or given["dim"] % len(x.sizes) != len(x.sizes) - 1:
        return None
    layout = rows(x, 1)
    if layout is None or not is_float(x, out) or not dense(out):
        return None
    return FusedNode(
        kernel="ostinato::softmax",
        args=(x, out, layout.count, layout.width, layout.step, *_KINDS[node.op]),
        outputs=(out,),
        fresh=frozenset((out.storage,)),
        written=frozenset(),
        weights=(),
        sources=(node,),
    )
