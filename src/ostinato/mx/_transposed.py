"""What a matrix becomes when it is turned, until a product takes it: the same blocks, read the other way."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from ._products import linear
from ._tensor import MXTensor

_aten = torch.ops.aten


class Transposed(torch.Tensor):
    """``[K, N]`` of an ``MXTensor`` ``[N, K]``.

    Products ``x @ w.t()`` read the blocks as they are, through the kernels; every other
    operator dequantizes.
    """

    source: MXTensor

    @staticmethod
    def __new__(cls, source: MXTensor) -> Transposed:
        n, k = source.shape
        made: Transposed = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, (k, n), strides=(1, k), dtype=source.dtype, device=source.device
        )
        made.source = source
        return made

    def dequantize(self, dtype: torch.dtype | None = None) -> torch.Tensor:  # type: ignore[override]
        return self.source.dequantize(dtype).t()

    def __repr__(self) -> str:  # type: ignore[override]
        return f"{self.source!r}.t()"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return Transposed, (self.source,)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        made = _product(func, args, kwargs)
        if made is not NotImplemented:
            return made
        if func in (_aten.detach.default, _aten.alias.default):
            return Transposed(args[0].source)
        if func is _aten.clone.default and not kwargs:
            return Transposed(args[0].source.clone())
        if func is _aten.t.default or (func is _aten.transpose.int and args[1] % 2 != args[2] % 2):
            return args[0].source.detach()
        args, kwargs = tree_map_only(Transposed, Transposed.dequantize, (args, kwargs))
        return func(*args, **kwargs)

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]


def _product(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if kwargs or func not in (_aten.mm.default, _aten.addmm.default):
        return NotImplemented  # factors, or a result that is given
    *bias, x, weight = args
    if not isinstance(weight, Transposed) or (bias and bias[0].shape != weight.shape[1:]):
        return NotImplemented
    return linear(x, weight.source, bias[0] if bias else None)


__all__ = ["Transposed"]
