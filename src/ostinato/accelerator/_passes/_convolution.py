"""Convolutions with packed weights; batch norm and an activation become their last instructions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import torch

from ... import _native
from .._program import FusedNode, Node, Program, Value, leaves
from ._batch_norm import BatchNorm, batch_norm
from ._context import Context, Edit, Uses, making

_aten = torch.ops.aten

# Offsets in the tables of the kernel are 32 bits.
_LARGEST = 2**31 - 1

# Up to here the call of a convolution costs torch more than what it computes.
_FEW_PRODUCTS = 1 << 21


@dataclasses.dataclass(slots=True)
class _Convolution:
    """What the kernel is to do, as far as the nodes looked at so far say."""

    input: Value
    weight: Value
    bias: Value | None
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    groups: int
    out: Value
    nodes: dict[int, Node]
    norm: BatchNorm | None = None
    activation: tuple[float, float, float] | None = None  # slope below zero, lowest, highest


def apply(program: Program, context: Context) -> None:
    """Convolutions of an activation by a weight go to the kernel, with what follows them."""
    uses = Uses(program, context)
    edit = Edit(program)
    for index, node in enumerate(program.nodes):
        convolution = _convolution(index, node) if isinstance(node, Node) else None
        if (
            convolution is None
            or not context.is_weight(convolution.weight)
            or not _takes(convolution)
            or not _pays(convolution)
        ):
            continue
        while _extend(convolution, program, uses):
            pass
        # In the place of the first node: what is fused with it comes out earlier than recorded.
        edit.replace(set(convolution.nodes), _fused(convolution), index)
    edit.apply()


def _convolution(index: int, node: Node) -> _Convolution | None:
    if node.op is not _aten.convolution.default or node.kwargs:
        return None
    x, weight, bias, stride, padding, dilation, transposed, _, groups = node.args
    if transposed or len(weight.sizes) not in (3, 4):
        return None
    spatial = len(weight.sizes) - 2

    def spread(numbers: list[int]) -> list[int]:
        return list(numbers) * spatial if len(numbers) == 1 else list(numbers)

    stride, padding, dilation = spread(stride), spread(padding), spread(dilation)
    return _Convolution(x, weight, bias, stride, padding, dilation, groups, node.outputs, {index: node})


def _takes(convolution: _Convolution) -> bool:
    """Whether the kernel takes these values."""
    values = [convolution.input, convolution.weight, convolution.out]
    values += [] if convolution.bias is None else [convolution.bias]
    return (
        all(_plain(v) for v in values)
        and all(0 not in v.sizes and _extent(v) < _LARGEST for v in values)
        and _padded(convolution) < _LARGEST
    )


def _plain(value: Value) -> bool:
    return value.dtype is torch.float32 and not value.conj and not value.neg


def _extent(value: Value) -> int:
    """How many elements the value reaches over."""
    return 1 + sum((n - 1) * s for n, s in zip(value.sizes, value.strides, strict=True))


def _padded(convolution: _Convolution) -> int:
    sizes = convolution.input.sizes
    frame = [n + 2 * p for n, p in zip(sizes[2:], convolution.padding, strict=True)]
    # A row of phases is a little longer than the row: by less than a stride.
    return sizes[1] * math.prod(n + s for n, s in zip(frame, convolution.stride, strict=True))


def _pays(convolution: _Convolution) -> bool:
    """Whether the kernel is at least as fast as torch's own, as ``benchmarks/bench_convolution.py`` measures.

    With registers of 8 or 16 floats it is, on all shapes tried there, but for groups of
    a few channels that lie side by side. With registers of 4 it is where the time goes
    into the call rather than into the sums.
    """
    lanes = _native.info()["vector_bytes"] // 4
    filters, inputs = convolution.weight.sizes[:2]
    outputs = filters // convolution.groups
    rows = convolution.out.strides[-1] == 1 or (inputs == 1 and outputs == 1)
    if convolution.groups > 1 and 2 * outputs < lanes and not rows:
        return False
    products = math.prod(convolution.out.sizes) * math.prod(convolution.weight.sizes[1:])
    return lanes > 4 or products <= _FEW_PRODUCTS


# ---- what follows -----------------------------------------------------------------------------------------


def _extend(convolution: _Convolution, program: Program, uses: Uses) -> bool:
    """Takes the next node in, where it is one of ours and nobody sees what is between."""
    last = max(convolution.nodes)
    later = [i for i in uses.touching(convolution.out.storage) if i > last]
    node = program.nodes[later[0]] if later else None
    if not isinstance(node, Node) or convolution.activation is not None:
        return False
    source = node.args[0] if node.args else None
    if not isinstance(source, Value) or not _same_elements(source, convolution.out):
        return False
    in_place = convolution.out.storage in node.written
    if not in_place and not uses.private(convolution.out.storage, {*convolution.nodes, later[0]}):
        return False
    if not _add_norm(convolution, node, later[0], uses) and not _add_activation(convolution, node):
        return False
    if not in_place:
        convolution.out = _renamed(convolution.out, leaves(node.outputs, Value)[0])
    convolution.nodes[later[0]] = node
    return True


def _same_elements(a: Value, b: Value) -> bool:
    """Whether both are the same elements in the same order, the batch of one aside."""

    def essence(v: Value) -> list[tuple[int, int]]:
        return [(n, s) for n, s in zip(v.sizes, v.strides, strict=True) if n != 1]

    return (a.storage, a.offset, a.dtype, essence(a)) == (b.storage, b.offset, b.dtype, essence(b))


def _renamed(out: Value, result: Value) -> Value:
    """``result``, with a batch of one where the convolution has it."""
    if len(result.sizes) == len(out.sizes):
        return result
    batch = result.strides[0] * result.sizes[0]
    return dataclasses.replace(result, sizes=(1, *result.sizes), strides=(batch, *result.strides))


def _add_norm(convolution: _Convolution, node: Node, index: int, uses: Uses) -> bool:
    norm = batch_norm(node)
    if norm is None or convolution.norm is not None:
        return False
    first = min(convolution.nodes)
    if (
        not all(_plain(v) for v in norm.values)
        or any(uses.changed_between(v.storage, first, index) for v in norm.values)
        or any(not uses.private(v.storage, {index}) for v in node.outputs[1:])
    ):
        return False
    convolution.norm = norm
    return True


def _number(node: Node, position: int, name: str, otherwise: float) -> float:
    value = node.args[position] if len(node.args) > position else node.kwargs.get(name, otherwise)
    return otherwise if value is None else float(value)


def _clamp(node: Node) -> tuple[float, float, float]:
    return 1.0, _number(node, 1, "min", -math.inf), _number(node, 2, "max", math.inf)


def _relu(node: Node) -> tuple[float, float, float]:
    return 1.0, 0.0, math.inf


def _hardtanh(node: Node) -> tuple[float, float, float]:
    return 1.0, _number(node, 1, "min_val", -1.0), _number(node, 2, "max_val", 1.0)


def _leaky_relu(node: Node) -> tuple[float, float, float]:
    return _number(node, 1, "negative_slope", 0.01), -math.inf, math.inf


_ACTIVATIONS: dict[Any, Callable[[Node], tuple[float, float, float]]] = {
    _aten.relu.default: _relu,
    _aten.relu_.default: _relu,
    _aten.hardtanh.default: _hardtanh,
    _aten.hardtanh_.default: _hardtanh,
    _aten.leaky_relu.default: _leaky_relu,
    _aten.leaky_relu_.default: _leaky_relu,
    _aten.clamp.default: _clamp,
    _aten.clamp_.default: _clamp,
    _aten.clamp_min.default: _clamp,
    _aten.clamp_min_.default: _clamp,
}


def _add_activation(convolution: _Convolution, node: Node) -> bool:
    read = _ACTIVATIONS.get(node.op)
    found = read(node) if read is not None else None
    result = leaves(node.outputs, Value)
    if found is None or len(result) != 1 or not _plain(result[0]) or any(math.isnan(n) for n in found):
        return False
    convolution.activation = found
    return True


def _fused(convolution: _Convolution) -> FusedNode:
    c = convolution
    geometry = (c.stride, c.padding, c.dilation, c.groups)
    n = c.norm
    norm = (
        (n.mean, n.variance, n.gamma, n.beta, n.epsilon) if n is not None else (None, None, None, None, 0.0)
    )
    activation = c.activation or (1.0, -math.inf, math.inf)
    args = (c.out, c.input, c.weight, c.bias, *geometry, *norm, *activation)
    sources = tuple(c.nodes[i] for i in sorted(c.nodes))
    return making("ostinato::convolution", args, c.out, sources, weights=(c.weight,))


__all__ = ["apply"]
