"""``quantize_``: the weights of a module in an MX format, in place."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import nn

from ._fake import Rounding
from ._formats import MXFormat
from ._layers import MXLinear, own_class
from ._quantize import quantize
from ._report import Noise, QuantizedWeight, Report
from ._tensor import MXTensor
from ._weights import FilterFn, Wanted, Weight, find

_Module = TypeVar("_Module", bound=nn.Module)
# Numbers that are quantized at a time: what lies in between stays small beside a layer.
_PIECE = 1 << 16


def quantize_(
    module: _Module,
    format: MXFormat,
    *,
    filter_fn: FilterFn | None = None,
    activations: MXFormat | None = None,
    block_size: int = 32,
    scale_mode: str = "floor",
    fake: bool = False,
    report: Report | None = None,
) -> _Module:
    """Quantize the weights of ``module`` in place.

    Taken are the weights of Linear, Embedding, Conv1d to 3d and ConvTranspose1d to 3d,
    and parameters ``[experts, out, in]`` of modules that are not torch's. Each becomes
    a frozen parameter that is an ``MXTensor`` with blocks along ``in``; that of a
    convolution is the matrix ``[first size, all others]``. Tied weights stay tied: one
    that is shared with a module that is not taken stays as it is. Weights are done one
    after another, so that the peak of memory is that of the module and one weight.

    Args:
        module: is changed, and returned.
        format: of the weights.
        filter_fn: ``filter_fn(module, name)`` says whether the weights of a module are
            quantized; ``name`` is that of ``named_modules()``. All are by default.
        activations: the input of linear layers and convolutions is rounded to this
            format in every call, along the features or channels, with a straight-through
            gradient.
        block_size, scale_mode: as of ``quantize``, for weights and inputs.
        fake: keep the weights and their gradients, and round them in every call: for
            training. A later call without it quantizes them.
        report: takes what was done, with the signal-to-noise ratio of each weight.

    Raises:
        UsageError: what ``quantize`` refuses. The module is unchanged.
    """
    rounding = Rounding(format, block_size, scale_mode)
    inputs = None if activations is None else Rounding(activations, block_size, scale_mode)
    for each in (rounding, inputs):
        if each is not None:
            _quantized(torch.zeros(0), each)
    weights, left = find(module, Wanted(filter_fn, fake, activations is not None))
    weights.reverse()
    with torch.no_grad():
        while weights:  # taken out one by one: nothing here may hold what was replaced
            done = _replace(weights.pop(), rounding, inputs, fake, report is not None)
            if report is not None and done is not None:
                report.quantized.append(done)
    if report is not None:
        report.left += left
    _take_the_long_way(module)
    return module


def _replace(
    weight: Weight, rounding: Rounding, inputs: Rounding | None, fake: bool, measured: bool
) -> QuantizedWeight | None:
    """Quantize one weight in all its places."""
    parameter = weight.parameter
    noise = Noise() if measured else None
    made = None
    if not fake or noise is not None:
        made = packed(parameter, weight.flat, rounding, noise)
    frozen = None if made is None or fake else nn.Parameter(made, requires_grad=False)
    for place in weight.places:
        layer = place.module
        own = own_class(layer)
        if own is not None and (own is MXLinear or fake or weight.flat or inputs is not None):
            layer.__class__ = own
            layer.mx_weight = rounding if fake else None  # type: ignore[assignment]
            if inputs is not None:
                layer.mx_input = inputs  # type: ignore[assignment]
        if frozen is not None:
            setattr(layer, place.attribute, frozen)
    if noise is None or made is None:
        return None
    before = parameter.numel() * parameter.element_size()
    after = before if fake else made.qdata.nbytes + made.scale.nbytes
    names = tuple(place.name for place in weight.places)
    shape = tuple(parameter.shape)
    return QuantizedWeight(names, shape, rounding.format.name, before, after, noise.decibels())


def packed(weight: torch.Tensor, flat: bool, rounding: Rounding, noise: Noise | None) -> MXTensor:
    """``weight``, or the matrix that it is flat, quantized some rows at a time."""
    weight = weight.detach().flatten(1) if flat else weight.detach()
    rows = weight.reshape(-1, weight.shape[-1])
    step = max(1, _PIECE // max(1, rows.shape[1]))
    parts = range(0, max(1, len(rows)), step)
    first = _quantized(rows[:step], rounding)
    q, s = (t.view(torch.uint8).new_empty(len(rows), t.shape[1]) for t in (first.qdata, first.scale))
    for start in parts:
        exact = rows[start : start + step]
        part = _quantized(exact, rounding) if start else first
        q[start : start + step] = part.qdata.view(torch.uint8)
        s[start : start + step] = part.scale.view(torch.uint8)
        if noise is not None:
            noise.add(exact, part.dequantize(torch.float64))
    outer = weight.shape[:-1]
    data = q.view(first.qdata.dtype).view(*outer, -1), s.view(first.scale.dtype).view(*outer, -1)
    return first.like(*data, weight.shape)


def _quantized(x: torch.Tensor, rounding: Rounding) -> MXTensor:
    return quantize(x, rounding.format, block_size=rounding.block_size, scale_mode=rounding.scale_mode)


def _take_the_long_way(module: nn.Module) -> None:
    """In inference, transformer layers have a kernel that reads weights of linear layers but calls none."""
    for layer in module.modules():
        if isinstance(layer, nn.TransformerEncoderLayer) and any(
            isinstance(part, MXLinear) for part in layer.modules()
        ):
            layer.activation_relu_or_gelu = 0


__all__ = ["packed", "quantize_"]
