"""The native operators, and what torch must know of them: shapes without data, and vmap."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .._native import ops

eigh: Any = ops().eigh.default
eigvalsh: Any = ops().eigvalsh.default
eigh_ex: Any = ops().eigh_ex.default


def has_kernel(A: Tensor) -> bool:
    return A.device.type in ("cpu", "meta")


def _values(A: Tensor) -> Tensor:
    return A.new_empty(A.shape[:-1], dtype=A.dtype.to_real())


def _vectors(A: Tensor) -> Tensor:
    by_columns = A.new_empty(A.shape).mT.stride()
    return A.new_empty_strided(A.shape, by_columns)


def _values_and_vectors(A: Tensor, upper: bool) -> tuple[Tensor, Tensor]:
    return _values(A), _vectors(A)


def _all_three(A: Tensor, upper: bool) -> tuple[Tensor, Tensor, Tensor]:
    return _values(A), _vectors(A), A.new_empty(A.shape[:-2], dtype=torch.int32)


torch.library.register_fake("ostinato::eigh", _values_and_vectors)
torch.library.register_fake("ostinato::eigvalsh", lambda A, upper: _values(A))
torch.library.register_fake("ostinato::eigh_ex", _all_three)


def _vmap(operator: Any, results: int) -> Any:
    def rule(info: Any, in_dims: tuple[int, None], A: Tensor, upper: bool) -> Any:
        return operator(A.movedim(in_dims[0], 0), upper), (0,) * results if results > 1 else 0

    return rule


torch.library.register_vmap("ostinato::eigh", _vmap(eigh, 2))
torch.library.register_vmap("ostinato::eigvalsh", _vmap(eigvalsh, 1))
torch.library.register_vmap("ostinato::eigh_ex", _vmap(eigh_ex, 3))
