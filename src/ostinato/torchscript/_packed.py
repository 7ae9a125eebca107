"""Packed parameters: weights that quantized and mobile operators take in a form of their own.

An archive holds what they were packed from.  They are packed anew by torch's own ``*_prepack`` operators,
which divide by what they are given: so every number and shape is compared first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

_LARGEST = 2**31 - 1
_QUANTIZED: Any = torch.ops.quantized


class Malformed(ValueError):
    """Packed parameters that contradict themselves; the text says how."""


# ---- checks ----


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise Malformed(what)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _numbers(values: Any, count: int, least: int, what: str) -> list[int]:
    """``count`` whole numbers of at least ``least``; one stands for all of them, as in torch."""
    found = list(values) if isinstance(values, (list, tuple)) else [values]
    found = found * count if len(found) == 1 else found
    fine = len(found) == count and all(_is_whole(each) and least <= each <= _LARGEST for each in found)
    _check(fine, f"the {what} is {str(values)[:40]}")
    return found


def _weight(weight: Any, dims: int, quantized: bool) -> None:
    fine = isinstance(weight, Tensor) and weight.dim() == dims and weight.is_quantized == quantized
    _check(fine, f"the weight is no {'quantized ' if quantized else ''}tensor of {dims} dimensions")
    _check(weight.numel() > 0, "the weight is empty")
    if quantized and weight.qscheme() != torch.per_tensor_affine:
        axes = (0, 1) if dims > 2 else (0,)  # a transposed convolution has its channels second
        _check(weight.q_per_channel_axis() in axes, "the weight has its scales along another dimension")


def _bias(bias: Any, channels: int) -> None:
    if bias is not None:
        fine = isinstance(bias, Tensor) and tuple(bias.shape) == (channels,) and not bias.is_quantized
        _check(fine, f"the bias has not {channels} numbers")


def _groups(weight: Tensor, bias: Any, groups: Any, transposed: bool) -> int:
    _check(_is_whole(groups) and 1 <= groups <= weight.size(0), f"there are {str(groups)[:40]} groups")
    _check(weight.size(0) % groups == 0, f"{groups} groups do not divide {weight.size(0)} channels")
    _bias(bias, weight.size(1) * groups if transposed else weight.size(0))
    return int(groups)


# ---- packing ----


def linear(weight: Any, bias: Any = None) -> Any:
    """``quantized::linear_prepack`` of a quantized weight [out, in] and a bias [out]."""
    _weight(weight, 2, quantized=True)
    _bias(bias, weight.size(0))
    return _QUANTIZED.linear_prepack.default(weight, bias)


def linear_half(weight: Any, bias: Any = None) -> Any:
    """``quantized::linear_prepack_fp16`` of a float weight [out, in] and a bias [out]."""
    _weight(weight, 2, quantized=False)
    _bias(bias, weight.size(0))
    return _QUANTIZED.linear_prepack_fp16.default(weight, bias)


def convolution(
    dims: int, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any
) -> Any:
    """``quantized::conv{1,2,3}d_prepack`` of a quantized weight [out, in / groups, *kernel]."""
    _weight(weight, dims + 2, quantized=True)
    settings = (
        _numbers(stride, dims, 1, "stride"),
        _numbers(padding, dims, 0, "padding"),
        _numbers(dilation, dims, 1, "dilation"),
        _groups(weight, bias, groups, transposed=False),
    )
    return getattr(_QUANTIZED, f"conv{dims}d_prepack").default(weight, bias, *settings)


def transposed(
    dims: int,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    dilation: Any,
    groups: Any,
) -> Any:
    """``quantized::conv_transpose{1,2,3}d_prepack`` of a quantized weight [in, out / groups, *kernel]."""
    _weight(weight, dims + 2, quantized=True)
    settings = (
        _numbers(stride, dims, 1, "stride"),
        _numbers(padding, dims, 0, "padding"),
        _numbers(output_padding, dims, 0, "output padding"),
        _numbers(dilation, dims, 1, "dilation"),
        _groups(weight, bias, groups, transposed=True),
    )
    return getattr(_QUANTIZED, f"conv_transpose{dims}d_prepack").default(weight, bias, *settings)


def embedding(weight: Any) -> Any:
    """``quantized::embedding_bag_prepack`` of a quantized weight [rows, columns], a scale for each row."""
    _weight(weight, 2, quantized=True)
    _check(weight.qscheme() != torch.per_tensor_affine, "an embedding has one scale for all rows")
    return _QUANTIZED.embedding_bag_prepack.default(weight)


# ---- what archives hold of them ----


def _restore_linear(state: Any) -> Any:
    _check(isinstance(state, tuple) and len(state) == 2, "a linear layer is not a weight and a bias")
    weight, bias = state
    if isinstance(weight, Tensor) and not weight.is_quantized:
        return linear_half(weight, bias)  # of torch's half precision, and stored as float32
    return linear(weight, bias)


def _restore_convolution(dims: int, state: Any) -> Any:
    """Three layouts: lists of tensors (1), numbers in a tensor of int16 (2), numbers in a list (3)."""
    _check(isinstance(state, tuple) and len(state) >= 3, "a convolution has another layout")
    if isinstance(state[0], Tensor):
        return _restore_first_layout(dims, state)
    if state[0] == "2":
        held, others = state[1], state[2]
        _check(isinstance(held, list) and len(held) == 2 and isinstance(others, list), "it lacks tensors")
        settings, weight = _integers(held[0]), held[1]
        bias = others[0] if others else None
    else:
        _check(state[0] == 3 and isinstance(state[1], list), f"a convolution has layout {str(state[0])[:20]}")
        _check(isinstance(state[2], list) and len(state[2]) == 3, "it lacks tensors")
        settings, (weight, bias) = state[1], state[2][1:]
    _check(len(settings) == 4 * dims + 3 and settings[0] == dims, "it has too few settings")
    stride, padding, dilation, output = (settings[1 + at * dims : 1 + (at + 1) * dims] for at in range(4))
    groups, flags = settings[-2:]
    _check(flags in (0, 1), "it has settings that are not known")
    if flags:
        return transposed(dims, weight, bias, stride, padding, output, dilation, groups)
    return convolution(dims, weight, bias, stride, padding, dilation, groups)


def _restore_first_layout(dims: int, state: tuple[Any, ...]) -> Any:
    _check(len(state) == 6 and all(isinstance(each, list) for each in state[2:5]), "it lacks settings")
    stride, padding, dilation = ([_integers(each)[0] for each in part] for part in state[2:5])
    return convolution(dims, state[0], state[1], stride, padding, dilation, _integers(state[5])[0])


def _integers(values: Any) -> list[int]:
    fine = isinstance(values, Tensor) and values.dim() == 1 and 0 < values.numel() < 64
    _check(fine and not values.is_floating_point() and not values.is_quantized, "its settings are no numbers")
    return [int(each) for each in values.tolist()]


def _restore_embedding(state: Any) -> Any:
    fine = isinstance(state, tuple) and len(state) == 4 and state[0] == 1
    _check(fine and isinstance(state[1], list) and len(state[1]) == 1, "an embedding has another layout")
    return embedding(state[1][0])


def _restore_cell(state: Any) -> Any:
    """The weights of a recurrent layer: its kind, tensors, two lists of numbers, packed linear layers."""
    fine = isinstance(state, tuple) and len(state) == 5 and all(isinstance(each, list) for each in state[1:])
    _check(fine, "a recurrent cell has another layout")
    kind, tensors, _, flags, packed = state
    _check(all(isinstance(each, Tensor) for each in tensors), "a bias is no tensor")
    _check(all(isinstance(each, torch.ScriptObject) for each in packed), "a weight is not packed")
    if kind == "quantized_dynamic" and len(tensors) == 2 and len(packed) == 2:
        reduce_range = bool(flags and flags[0])
        return _QUANTIZED.make_quantized_cell_params_dynamic.default(*packed, *tensors, reduce_range)
    if kind == "quantized_fp16" and len(packed) == 2:
        return _QUANTIZED.make_quantized_cell_params_fp16.default(*packed)
    raise Malformed(f"a recurrent cell is of the kind {str(kind)[:40]!r}")


# ---- what mobile operators take ----


@dataclass(frozen=True)
class Clamped:
    """A layer whose result lies between ``least`` and ``most``, as the mobile optimizer fuses them."""

    layer: Callable[[Tensor], Tensor]
    least: float | None
    most: float | None

    def __call__(self, x: Tensor) -> Tensor:
        made = self.layer(x)
        return made if self.least is None and self.most is None else made.clamp(self.least, self.most)


def clamped_linear(weight: Any, bias: Any, least: Any = None, most: Any = None) -> Clamped:
    """``prepacked::linear_clamp_prepack``."""
    _weight(weight, 2, quantized=False)
    _bias(bias, weight.size(0))
    return Clamped(lambda x: torch.nn.functional.linear(x, weight, bias), least, most)


def clamped_convolution(
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: Any,
    least: Any = None,
    most: Any = None,
) -> Clamped:
    """``prepacked::conv2d_clamp_prepack``."""
    _weight(weight, 4, quantized=False)
    settings = (
        _numbers(stride, 2, 1, "stride"),
        _numbers(padding, 2, 0, "padding"),
        _numbers(dilation, 2, 1, "dilation"),
        _groups(weight, bias, groups, transposed=False),
    )
    return Clamped(lambda x: torch.conv2d(x, weight, bias, *settings), least, most)


def clamped_transposed(
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    dilation: Any,
    groups: Any,
    least: Any = None,
    most: Any = None,
) -> Clamped:
    """``prepacked::conv2d_transpose_clamp_prepack``."""
    _weight(weight, 4, quantized=False)
    stride, padding, output_padding, dilation = (
        _numbers(stride, 2, 1, "stride"),
        _numbers(padding, 2, 0, "padding"),
        _numbers(output_padding, 2, 0, "output padding"),
        _numbers(dilation, 2, 1, "dilation"),
    )
    count = _groups(weight, bias, groups, transposed=True)

    def layer(x: Tensor) -> Tensor:
        return torch.conv_transpose2d(x, weight, bias, stride, padding, output_padding, count, dilation)

    return Clamped(layer, least, most)


def _of_tuple(build: Callable[..., Any], state: Any) -> Any:
    _check(isinstance(state, tuple), "it is no tuple")
    return build(*state)


# The classes of ``__torch__.torch.classes`` → what packs the state that an archive holds of them.
_RESTORE: dict[str, Callable[[Any], Any]] = {
    "quantized.LinearPackedParamsBase": _restore_linear,
    "quantized.Conv2dPackedParamsBase": functools.partial(_restore_convolution, 2),
    "quantized.Conv3dPackedParamsBase": functools.partial(_restore_convolution, 3),
    "quantized.EmbeddingPackedParamsBase": _restore_embedding,
    "rnn.CellParamsBase": _restore_cell,
    "xnnpack.LinearOpContext": functools.partial(_of_tuple, clamped_linear),
    "xnnpack.Conv2dOpContext": functools.partial(_of_tuple, clamped_convolution),
    "xnnpack.TransposeConv2dOpContext": functools.partial(_of_tuple, clamped_transposed),
}


def restore(name: str, state: Any) -> Any:
    """An object of torch's own class ``name`` from what an archive holds of it.

    Raises Malformed, or what torch raises, where that is no such object.
    """
    return _RESTORE[name](state)
