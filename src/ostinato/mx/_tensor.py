"""``MXTensor``: a tensor whose numbers are kept as MX blocks."""

from __future__ import annotations

from typing import Any

import torch

from .._lowering import keeps_operators
from .._version import __version__
from ._elements import decode
from ._formats import MXFormat, format_of
from ._ops import has_kernel, has_numbers, mx_dequantize
from ._packing import unpack
from ._scales import BIAS, NAN, scaled


class MXTensor(torch.Tensor):
    """A tensor ``[..., K]`` in an MX format, made by ``ostinato.mx.quantize``.

    Attributes:
        qdata: the elements, ``[..., K']`` of ``format.storage``, where K' counts whole
            blocks: two mxfp4 in one, the first in the low half; four mxfp6 in three
            bytes, the first in the lowest bits.
        scale: a scale a block, ``[..., blocks]``, float8_e8m0fnu.
        format, block_size: as given to ``quantize``.

    It has the dtype that it was quantized from. Copies, moves to a device, views,
    slices and concatenations that keep the last dimension whole stay quantized; a
    lookup by ``embedding`` dequantizes the rows that it reads; products ``x @ w.t()``,
    ``addmm`` and ``linear`` read the blocks themselves; every other operator
    dequantizes its arguments. No gradient flows into it.
    """

    qdata: torch.Tensor
    scale: torch.Tensor
    format: MXFormat
    block_size: int
    _qdata: torch.Tensor
    _scale: torch.Tensor

    @staticmethod
    def __new__(
        cls,
        qdata: torch.Tensor,
        scale: torch.Tensor,
        format: MXFormat,
        shape: torch.Size | tuple[int, ...],
        block_size: int,
        dtype: torch.dtype,
    ) -> MXTensor:
        made: MXTensor = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, shape, dtype=dtype, device=qdata.device
        )
        made.qdata, made.scale, made.format, made.block_size = qdata, scale, format, block_size
        made._qdata, made._scale = _as_bytes(qdata), _as_bytes(scale)
        return made

    def dequantize(self, dtype: torch.dtype | None = None) -> torch.Tensor:  # type: ignore[override]
        """The numbers as an ordinary tensor, of ``dtype`` or else of the tensor's own."""
        dtype = self.dtype if dtype is None else dtype
        stays = keeps_operators() and self.device.type == "cpu"
        if has_numbers(dtype) and (stays or has_kernel(self.qdata, self.scale)):
            how = self.format.name, self.block_size, self.shape[-1], dtype
            numbers: torch.Tensor = mx_dequantize(self.qdata, self.scale, *how)
            return numbers
        values = decode(unpack(self.qdata, self.format), self.format)
        biased = self.scale.view(torch.uint8).to(torch.int32)
        blocks = values.reshape(*self.scale.shape, self.block_size)
        if dtype is torch.float64:
            blocks = blocks.double()
        blocks = scaled(blocks, (biased - BIAS).unsqueeze(-1))
        blocks = blocks.masked_fill((biased == NAN).unsqueeze(-1), float("nan"))
        return blocks.flatten(-2)[..., : self.shape[-1]].to(dtype).contiguous()

    def like(
        self,
        qdata: torch.Tensor,
        scale: torch.Tensor,
        shape: torch.Size | tuple[int, ...],
        dtype: torch.dtype | None = None,
    ) -> MXTensor:
        """One of the same format with other contents."""
        return MXTensor(qdata, scale, self.format, shape, self.block_size, dtype or self.dtype)

    def __repr__(self) -> str:  # type: ignore[override]
        size = list(self.shape)
        return f"MXTensor({size}, {self.format.name}, block_size={self.block_size}, dtype={self.dtype})"

    # What traces a program finds bytes, in qdata and scale too: not every compiler has the short dtypes.
    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["_qdata", "_scale"], (self.format, self.block_size, self.dtype)

    @staticmethod
    def __tensor_unflatten__(
        inner: dict[str, torch.Tensor], context: Any, size: torch.Size, stride: Any
    ) -> MXTensor:
        format, block_size, dtype = context
        q, s = inner["_qdata"], inner["_scale"]
        if type(q) in (torch.Tensor, torch.nn.Parameter):  # nobody traces
            q, s = q.view(format.storage), s.view(torch.float8_e8m0fnu)
        return MXTensor(q, s, format, size, block_size, dtype)

    def _stable_hash_for_caching(self) -> str:
        """For torch's cache of compiled programs: what dequantizes is in them, and depends on the version."""
        names, _ = self.__tensor_flatten__()
        data = [
            (name, tuple(t.shape), t.stride(), t.device) for name in names for t in (getattr(self, name),)
        ]
        about = (__version__, self.format, self.block_size, self.dtype, tuple(self.shape), self.requires_grad)
        return f"MXTensor {about} {data}"

    def __reduce_ex__(self, protocol: Any) -> Any:
        # As bytes: not every reader knows the short dtypes.
        data = self.qdata.view(torch.uint8), self.scale.view(torch.uint8)
        shape = tuple(self.shape)
        parameter = isinstance(self, torch.nn.Parameter)
        return rebuild, (*data, self.format.name, shape, self.block_size, self.dtype, parameter)

    def __deepcopy__(self, memo: dict[int, Any]) -> MXTensor:
        if id(self) not in memo:
            made: Any = self.detach().clone()
            memo[id(self)] = _as_parameter(made) if isinstance(self, torch.nn.Parameter) else made
        copied: MXTensor = memo[id(self)]
        return copied

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        from ._operators import call

        return call(func, args, kwargs or {})

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]


def _as_bytes(x: torch.Tensor) -> torch.Tensor:
    return x if x.dtype is torch.uint8 else x.view(torch.uint8)


def _as_parameter(x: MXTensor) -> Any:
    return torch.nn.Parameter(x, requires_grad=False)


def rebuild(
    qdata: torch.Tensor,
    scale: torch.Tensor,
    name: str,
    shape: tuple[int, ...],
    block_size: int,
    dtype: torch.dtype,
    parameter: bool,
) -> Any:
    """What a pickled ``MXTensor`` becomes."""
    format = format_of(name)
    data = qdata.view(format.storage), scale.view(torch.float8_e8m0fnu)
    made = MXTensor(*data, format, shape, block_size, dtype)
    return _as_parameter(made) if parameter else made


torch.serialization.add_safe_globals([rebuild])

__all__ = ["MXTensor"]
