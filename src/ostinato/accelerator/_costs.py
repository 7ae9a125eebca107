"""What a node costs at least: operations of matrix products and convolutions, and bytes that it touches."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch

from ._program import ConstantNode, FusedNode, Node, Value, leaves, map_tensors

_aten = torch.ops.aten


def flops(node: Node) -> int:
    """Two for each multiplication with an addition, as torch counts them; 0 for all other arithmetic."""
    count = _formulas().get(node.op.overloadpacket)
    if count is None:
        return 0

    def sizes(tree: Any) -> Any:
        return map_tensors(tree, lambda value: torch.Size(value.sizes), Value)

    kwargs = {name: sizes(each) for name, each in node.kwargs.items()}
    return int(count(*sizes(node.args), **kwargs, out_val=sizes(node.outputs)))


def touched_bytes(node: Node | FusedNode | ConstantNode) -> int:
    """Of all that the node reads and writes, each part once."""
    if isinstance(node, ConstantNode):
        return node.content.numel()
    kwargs = list(node.kwargs.values()) if isinstance(node, Node) else []
    values = set(leaves([list(node.args), kwargs, node.outputs], Value))
    return sum(_bytes(value) for value in values)


def _bytes(value: Value) -> int:
    """Of the elements, those of a broadcast dimension once."""
    sizes = (n for n, stride in zip(value.sizes, value.strides, strict=True) if stride or not n)
    return math.prod(sizes) * value.dtype.itemsize


@functools.cache
def _formulas() -> dict[Any, Callable[..., int]]:
    """By operator; torch's own formulas, which take sizes, and those that they lack."""
    from torch.utils.flop_counter import flop_registry

    return {
        **flop_registry,
        _aten._scaled_dot_product_flash_attention_for_cpu: _attention,
        _aten.lstm: _recurrent,
        _aten.gru: _recurrent,
        _aten.mkldnn_rnn_layer: _recurrent_layer,
    }


def _attention(query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> int:
    from torch.utils.flop_counter import sdpa_flop_count

    return int(sdpa_flop_count(query, key, value))


def _recurrent(x: Any, state: Any, weights: Any, *args: Any, **kwargs: Any) -> int:
    """Each weight matrix meets each row of the sequence once."""
    matrices: list[int] = [math.prod(each) for each in weights if len(each) == 2]
    return 2 * int(math.prod(x[:-1])) * sum(matrices)


def _recurrent_layer(x: Any, *args: Any, **kwargs: Any) -> int:
    return _recurrent(x, None, args[:2])
