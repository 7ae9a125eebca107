"""Layers of torch that round their weight or their input, or whose weight is kept flat.

A layer becomes one of these by its class alone: parameters, hooks, device and names
stay what they were, and it pickles, copies, compiles and exports as any module does.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ._fake import Rounding
from ._products import linear, linear_rounded
from ._tensor import MXTensor

F = torch.nn.functional


class _Rounded:
    """``mx_weight`` rounds the weight in every call, for training; ``mx_input`` the input."""

    mx_weight: Rounding | None = None
    mx_input: Rounding | None = None
    weight: Any

    def _rounded_weight(self, shape: tuple[int, ...]) -> torch.Tensor:
        if self.mx_weight is None:
            weight: torch.Tensor = self.weight
            return weight if weight.shape == shape else weight.view(shape)
        return self.mx_weight(self.weight.flatten(1)).view(shape)

    def _rounded_input(self, x: torch.Tensor, dim: int) -> torch.Tensor:
        return x if self.mx_input is None else self.mx_input(x, dim)


class MXLinear(_Rounded, nn.Linear):
    """``torch.nn.Linear``; its input is rounded along the features, where it is."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = self._by_kernel(x)
        if made is not NotImplemented:
            return made  # type: ignore[no-any-return]
        weight = self._rounded_weight((self.out_features, self.in_features))
        return F.linear(self._rounded_input(x, -1), weight, self.bias)

    def _by_kernel(self, x: torch.Tensor) -> Any:
        """At once: by ``F.linear``, torch would ask the weight operator by operator what to do."""
        weight, inputs = self.weight, self.mx_input
        if not isinstance(weight, MXTensor) or torch.is_autocast_enabled("cpu"):
            return NotImplemented
        if inputs is None:
            return linear(x, weight, self.bias)
        return linear_rounded(
            x,
            weight,
            self.bias,
            inputs.format,
            block_size=inputs.block_size,
            scale_mode=inputs.scale_mode,
        )


class MXEmbedding(_Rounded, nn.Embedding):
    """``torch.nn.Embedding``: blocks lie within a row, so only the rows that are read are rounded."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = super().forward(x)
        return rows if self.mx_weight is None else self.mx_weight(rows)


class _Convolution(_Rounded):
    """Its weight has the kernel's shape while it trains, and ``[its first size, the rest]`` once quantized.

    Kernels are a few numbers wide, too few for a block. The rest, flat, is what a
    convolution sums over in one output, in the order of ``torch.nn.functional.unfold``.
    The input is rounded along the channels, since its pixels meet several kernels.
    """

    kernel_size: tuple[int, ...]
    in_channels: int
    out_channels: int
    groups: int
    bias: torch.Tensor | None
    _conv_forward: Any

    def _kernel_shape(self) -> tuple[int, ...]:
        return (self.out_channels, self.in_channels // self.groups, *self.kernel_size)

    def _operands(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        channels = -1 - len(self.kernel_size)
        return self._rounded_input(x, channels), self._rounded_weight(self._kernel_shape())

    def _convolved(self, x: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self._conv_forward(*self._operands(x), self.bias)
        return made


class MXConv1d(_Convolution, nn.Conv1d):
    """``torch.nn.Conv1d``."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._convolved(x)


class MXConv2d(_Convolution, nn.Conv2d):
    """``torch.nn.Conv2d``."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._convolved(x)


class MXConv3d(_Convolution, nn.Conv3d):
    """``torch.nn.Conv3d``."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._convolved(x)


class _Transposed(_Convolution):
    stride: Any
    padding: Any
    dilation: Any
    _output_padding: Any

    def _kernel_shape(self) -> tuple[int, ...]:
        return (self.in_channels, self.out_channels // self.groups, *self.kernel_size)

    def forward(self, x: torch.Tensor, output_size: list[int] | None = None) -> torch.Tensor:
        n = len(self.kernel_size)
        padding = self._output_padding(
            x, output_size, self.stride, self.padding, self.kernel_size, n, self.dilation
        )
        function: Any = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[n - 1]
        x, weight = self._operands(x)
        made: torch.Tensor = function(
            x, weight, self.bias, self.stride, self.padding, padding, self.groups, self.dilation
        )
        return made


class MXConvTranspose1d(_Transposed, nn.ConvTranspose1d):  # type: ignore[misc]
    """``torch.nn.ConvTranspose1d``."""


class MXConvTranspose2d(_Transposed, nn.ConvTranspose2d):  # type: ignore[misc]
    """``torch.nn.ConvTranspose2d``."""


class MXConvTranspose3d(_Transposed, nn.ConvTranspose3d):  # type: ignore[misc]
    """``torch.nn.ConvTranspose3d``."""


_OWN: dict[type[nn.Module], type[nn.Module]] = {
    nn.Linear: MXLinear,
    nn.Embedding: MXEmbedding,
    nn.Conv1d: MXConv1d,
    nn.Conv2d: MXConv2d,
    nn.Conv3d: MXConv3d,
    nn.ConvTranspose1d: MXConvTranspose1d,
    nn.ConvTranspose2d: MXConvTranspose2d,
    nn.ConvTranspose3d: MXConvTranspose3d,
}
LAYERS = tuple(_OWN)
CONVOLUTIONS = LAYERS[2:]


def own_class(layer: nn.Module) -> type[nn.Module] | None:
    """The class here that computes what ``layer`` does; None if ``layer`` has a class of its own."""
    kind = type(layer)
    return kind if kind in _OWN.values() else _OWN.get(kind)


__all__ = ["CONVOLUTIONS", "LAYERS", "MXEmbedding", "MXLinear", "own_class"]
