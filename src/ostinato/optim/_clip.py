"""The norm of all gradients of an optimizer, and what a step multiplies them by to clip it."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from .. import _native
from ._spread import is_spread, norm_of_all_parts

# torch.nn.utils.clip_grad_norm_ adds as much to the norm.
_EPSILON = 1e-6


def total_norm(
    ours: list[torch.Tensor], others: Iterable[torch.Tensor], scale: torch.Tensor | None
) -> torch.Tensor:
    """The norm of all numbers in gradients, as a float64 without dimensions.

    ``ours`` are gradients that kernels take; they are read once. ``scale`` is what
    all of them were multiplied by.
    """
    given = list(others)
    spread = norm_of_all_parts([grad for grad in given if is_spread(grad)])
    norms = [*map(_norm, spread), *(_norm(grad) for grad in given if not is_spread(grad))]
    if ours:
        norms.append(_native.ops().gradient_norm(ours))
    if not norms:
        return torch.zeros((), dtype=torch.float64)
    total = norms[0] if len(norms) == 1 else torch.linalg.vector_norm(torch.stack(norms))
    return total if scale is None else total / scale.to("cpu", torch.float64).reshape(())


def _norm(grad: torch.Tensor) -> torch.Tensor:
    values = grad.coalesce().values() if grad.is_sparse else grad
    wide = torch.complex128 if values.is_complex() else torch.float64
    norm: torch.Tensor = torch.linalg.vector_norm(values.detach(), dtype=wide)
    return norm.to("cpu", torch.float64)


def clip_factor(norm: torch.Tensor, max_norm: float | torch.Tensor) -> torch.Tensor:
    """At most one; a NaN where the norm is one, as in torch."""
    return (max_norm / (norm + _EPSILON)).clamp(max=1.0)
