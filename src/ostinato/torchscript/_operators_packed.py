"""Operators of quantized tensors and of packed parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from . import _packed
from ._operators_prim import as_dtype

_VARIABLE: Any = torch._C._VariableFunctions
_SCHEMES = [
    torch.per_tensor_affine,
    torch.per_channel_affine,
    torch.per_tensor_symmetric,
    torch.per_channel_symmetric,
    torch.per_channel_affine_float_qparams,
]


def _quantize(x: Any, scale: Any, zero_point: Any, dtype: Any) -> Any:
    made = _VARIABLE.quantize_per_tensor(x, scale, zero_point, as_dtype(dtype))
    return list(made) if isinstance(made, tuple) else made


def _quantize_channels(x: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: Any) -> Any:
    return _VARIABLE.quantize_per_channel(x, scales, zero_points, axis, as_dtype(dtype))


def _quantize_dynamic(x: Tensor, dtype: Any, reduce_range: bool) -> Any:
    return _VARIABLE.quantize_per_tensor_dynamic(x, as_dtype(dtype), reduce_range)


def _dequantize(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(_dequantize(each) for each in x)
    return x.dequantize() if isinstance(x, Tensor) else x


def _scheme(x: Tensor) -> int:
    return _SCHEMES.index(x.qscheme())


def _run(x: Tensor, packed: _packed.Clamped) -> Any:
    if not isinstance(packed, _packed.Clamped):
        raise TypeError("a layer of the mobile optimizer is asked for, and something else is given")
    return packed(x)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantize_per_tensor": _quantize,
    "quantize_per_channel": _quantize_channels,
    "quantize_per_tensor_dynamic": _quantize_dynamic,
    "dequantize": _dequantize,
    "qscheme": _scheme,
    "quantized_lstm": torch.ops.aten.quantized_lstm,
    "quantized_gru": torch.ops.aten.quantized_gru,
}
# Operators that are more than torch's own of the same name: what packs compares its arguments first.
_OWN: dict[str, Callable[..., Any]] = {
    "quantized::linear_prepack": _packed.linear,
    "quantized::linear_prepack_fp16": _packed.linear_half,
    "quantized::conv_prepack": functools.partial(_packed.convolution, 2),
    **{f"quantized::conv{n}d_prepack": functools.partial(_packed.convolution, n) for n in (1, 2, 3)},
    **{f"quantized::conv_transpose{n}d_prepack": functools.partial(_packed.transposed, n) for n in (1, 2, 3)},
    "quantized::embedding_bag_prepack": _packed.embedding,
    "prepacked::linear_clamp_prepack": _packed.clamped_linear,
    "prepacked::conv2d_clamp_prepack": _packed.clamped_convolution,
    "prepacked::conv2d_transpose_clamp_prepack": _packed.clamped_transposed,
    "prepacked::linear_clamp_run": _run,
    "prepacked::conv2d_clamp_run": _run,
    "prepacked::conv2d_transpose_clamp_run": _run,
}


def callable_of(space: str, name: str) -> Callable[..., Any]:
    """An operator of ``quantized`` or ``prepacked``."""
    own = _OWN.get(f"{space}::{name}")
    if own is not None:
        return own
    packet: Any = getattr(getattr(torch.ops, space), name)
    # An overload is called faster than the packet; "legacy" ones take tensors that hide pointers.
    several = [each for each in packet.overloads() if each != "legacy" and not each.endswith("out")]
    found: Callable[..., Any] = packet if len(several) > 1 else getattr(packet, several[0])
    return found
