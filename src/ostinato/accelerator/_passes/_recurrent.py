"""Layers of LSTM cells: all their products and gates are one step."""

from __future__ import annotations

import torch

from .._forms import bind
from .._program import FusedNode, Node, Program, Value
from ._context import Context, Edit, Uses

_LSTM = 2  # the `mode` of oneDNN's recurrent layers


def apply(program: Program, context: Context) -> None:
    """A layer that torch gives to oneDNN goes to our kernels."""
    uses = Uses(program, context)
    edit = Edit(program)
    for index, node in enumerate(program.nodes):
        if isinstance(node, Node) and node.op is torch.ops.aten.mkldnn_rnn_layer.default:
            fused = _lstm(node, index, uses, context)
            if fused is not None:
                edit.replace({index}, fused, index)
    edit.apply()


def _lstm(node: Node, index: int, uses: Uses, context: Context) -> FusedNode | None:
    given = bind(node.op, node.args, node.kwargs)
    weights = [given[f"weight{i}"] for i in range(4 if given["has_biases"] else 2)]
    y, h_out, c_out, workspace = node.outputs
    tensors = [given["input"], *weights, given["hx_"], given["cx_"], y, h_out, c_out]
    if given["mode"] != _LSTM or given["batch_sizes"]:
        return None
    if isinstance(workspace, Value) and not uses.private(workspace.storage, {index}):
        return None  # what a gradient would need
    if not all(_plain(v) for v in tensors) or not all(context.is_weight(w) for w in weights):
        return None
    hidden = y.sizes[-1]
    if [w.sizes[0] for w in weights] != [4 * hidden] * len(weights):
        return None
    states = given["hx_"], given["cx_"]
    biases = weights[2:] or [None, None]
    args = (given["input"], *weights[:2], *biases, *states, bool(given["reverse"]), y, h_out, c_out)
    made = frozenset(v.storage for v in (y, h_out, c_out))
    return FusedNode("ostinato::lstm", args, (y, h_out, c_out), made, frozenset(), tuple(weights), (node,))


def _plain(value: Value) -> bool:
    """Whether these are numbers of single precision, those of the last dimension side by side."""
    return (
        value.dtype == torch.float32
        and not (value.conj or value.neg)
        and 0 not in value.sizes
        and (value.strides[-1] == 1 or value.sizes[-1] == 1)
    )
