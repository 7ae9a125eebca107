"""Gradients of an eigendecomposition, forward and backward, of any order."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from . import _ops

_stock: Any = torch.linalg.eigh


def _inverse_gaps(values: Tensor, tolerance: float | None) -> Tensor:
    """1 / (w_j - w_i) at [i, j]; 0 on the diagonal, and for pairs that count as one eigenvalue."""
    gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
    n = values.shape[-1]
    apart = ~torch.eye(n, dtype=torch.bool, device=values.device)
    if tolerance is not None and n > 0:
        limit = tolerance * values.detach().abs().amax(-1)
        apart = apart & (gaps.detach().abs() > limit[..., None, None])
    # Where it is not used, 1 is what is divided by: an infinity would come back in a second derivative.
    return torch.where(apart, torch.where(apart, gaps, 1.0).reciprocal(), 0.0)


def by_matrix(
    values: Tensor,
    vectors: Tensor,
    by_values: Tensor | None,
    by_vectors: Tensor | None,
    tolerance: float | None,
) -> Tensor | None:
    """The gradient by A, from those by the eigenvalues and by the eigenvectors."""
    if by_vectors is None:
        if by_values is None:
            return None
        return (vectors * by_values.unsqueeze(-2)) @ vectors.mH
    turned = vectors.mH @ by_vectors
    # Half of it, as A is Hermitian: where eigenvalues are equal, the gradient of a subspace cancels here.
    inner = (turned - turned.mH) / 2 * _inverse_gaps(values, tolerance)
    if by_values is not None:
        inner = inner + torch.diag_embed(by_values)
    return vectors @ inner @ vectors.mH


class Eigh(torch.autograd.Function):
    """``(values, vectors)`` of A. What it saves are its own outputs, so second derivatives follow.

    A compiler takes this class; it refuses one that has forward derivatives of its own.
    """

    @staticmethod
    def forward(A: Tensor, upper: bool, tolerance: float | None) -> tuple[Tensor, Tensor]:
        if _ops.has_kernel(A):
            values, vectors = _ops.eigh(A, upper)
        else:
            values, vectors = _stock(A, "U" if upper else "L")
        return values, vectors

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.tolerance = inputs[2]
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*output)
        ctx.save_for_forward(*output)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Tensor | None, None, None]:
        values, vectors = ctx.saved_tensors
        return by_matrix(values, vectors, grads[0], grads[1], ctx.tolerance), None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, None, None], *inputs: Any) -> Any:
        A, *rest = inputs
        return EighForward.apply(A.movedim(in_dims[0], 0), *rest), (0, 0)


class EighForward(Eigh):
    """With forward derivatives."""

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> tuple[Tensor, Tensor]:
        values, vectors = ctx.saved_tensors
        inner = vectors.mH @ ((tangents[0] + tangents[0].mH) / 2) @ vectors
        turn = inner * _inverse_gaps(values, ctx.tolerance)
        return torch.real(inner.diagonal(dim1=-2, dim2=-1)), vectors @ turn
