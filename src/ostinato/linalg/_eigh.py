"""The functions that users call. What needs no gradient goes to the native operator by the shortest way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.overrides import handle_torch_function, has_torch_function_unary

from .._errors import fail
from . import _ops
from ._failure import (
    LOW,
    NATIVE,
    check_matrices,
    check_out,
    check_subset,
    check_tolerance,
    failure,
)
from ._gradient import Eigh, EighForward
from ._sharded import is_sharded, on_shards

_UPPER = {"L": False, "l": False, "U": True, "u": True}
_Pair: Any = torch.return_types.linalg_eigh  # type: ignore[attr-defined]
_stock: Any = torch.linalg.eigh
# The operators without the layer that resolves overloads: for one small matrix it is a third of the call.
_eigh_now: Any = _ops.eigh._op
_eigvalsh_now: Any = _ops.eigvalsh._op


class EighEx(NamedTuple):
    """What ``eigh_ex`` gives. ``info`` is 0 for a matrix that was solved, 1 for one that is not finite,
    -1 for one that did not converge; the results of those are NaN."""

    eigenvalues: Tensor
    eigenvectors: Tensor
    info: Tensor


def eigh(
    A: Tensor,
    UPLO: str = "L",
    *,
    out: tuple[Tensor, Tensor] | None = None,
    subset_by_index: Sequence[int] | None = None,
    gap_tolerance: float | None = None,
) -> Any:
    """Eigenvalues, ascending, and eigenvectors of Hermitian matrices.

    ``A`` is a matrix or a batch of them, of which the triangle that ``UPLO`` names is read. The
    result is that of ``torch.linalg.eigh``, and so are the rules for gradients, with one addition:
    eigenvalues no further apart than ``gap_tolerance`` times the largest count as one, and the
    gradient takes the space of their vectors as a whole, instead of NaN or infinity.

    ``subset_by_index=(first, last)`` keeps these eigenvalues and their vectors, both ends included.
    float16 and bfloat16 are computed in float32.

    Raises ``EighError``, which is a ``torch.linalg.LinAlgError``, where a matrix is not finite.
    """
    if out is None and subset_by_index is None and _is_plain(A):
        upper = _upper(UPLO)
        try:
            return _Pair(_eigh_now(A, upper))
        except RuntimeError:
            _explain(A, upper)
            raise
    if has_torch_function_unary(A):
        options: dict[str, Any] = {
            "out": out,
            "subset_by_index": subset_by_index,
            "gap_tolerance": gap_tolerance,
        }
        return handle_torch_function(eigh, (A,), A, UPLO, **options)
    values, vectors = _solve(A, _upper(UPLO), gap_tolerance)
    if subset_by_index is not None:
        first, last = check_subset(subset_by_index, A.shape[-1])
        values, vectors = values[..., first : last + 1], vectors[..., first : last + 1]
    return _Pair((values, vectors) if out is None else _filled(A, tuple(out), (values, vectors)))


def eigvalsh(
    A: Tensor,
    UPLO: str = "L",
    *,
    out: Tensor | None = None,
    subset_by_index: Sequence[int] | None = None,
) -> Tensor:
    """Eigenvalues, ascending, of Hermitian matrices: as ``eigh``, without the vectors."""
    if out is None and subset_by_index is None and _is_plain(A):
        upper = _upper(UPLO)
        try:
            return _eigvalsh_now(A, upper)  # type: ignore[no-any-return]
        except RuntimeError:
            _explain(A, upper)
            raise
    if has_torch_function_unary(A):
        options: dict[str, Any] = {"out": out, "subset_by_index": subset_by_index}
        return handle_torch_function(eigvalsh, (A,), A, UPLO, **options)  # type: ignore[no-any-return]
    values = _solve_values(A, _upper(UPLO))
    if subset_by_index is not None:
        first, last = check_subset(subset_by_index, A.shape[-1])
        values = values[..., first : last + 1]
    return values if out is None else _filled(A, (out,), (values,))[0]


def eigh_ex(A: Tensor, UPLO: str = "L") -> EighEx:
    """As ``eigh``, for batches of which some matrices may be bad: it never raises for one of them.

    The eigenvalues and vectors of a matrix that is not finite are NaN, and ``info`` tells it from
    the others. There is no gradient.
    """
    if has_torch_function_unary(A):
        return handle_torch_function(eigh_ex, (A,), A, UPLO)  # type: ignore[no-any-return]
    check_matrices(A)
    if is_sharded(A):
        return EighEx(*on_shards(lambda part: eigh_ex(part, UPLO), A))
    A = A.detach()
    wide = A.float() if A.dtype in LOW else A
    values, vectors, info = _ops.eigh_ex(wide, _upper(UPLO))
    return EighEx(values.to(A.dtype.to_real()), vectors.to(A.dtype), info)


def _is_plain(A: Tensor) -> bool:
    """Whether neither autograd, nor a transform, nor a compiler needs to see more than the operator."""
    return (
        not torch.compiler.is_compiling()
        and type(A) is Tensor
        and A.is_cpu
        and A.dtype in NATIVE
        and not (A.requires_grad and torch.is_grad_enabled())
        and forward_ad._current_level < 0
        and torch._C._functorch.maybe_current_level() is None
    )


def _upper(UPLO: str) -> bool:
    upper = _UPPER.get(UPLO)
    if upper is None:
        raise fail("linalg.uplo", value=UPLO)
    return upper


def _explain(A: Tensor, upper: bool) -> None:
    """Raises what says more than the operator does."""
    error = failure(A, upper)
    if error is not None:
        raise error from None


def _solve(A: Tensor, upper: bool, tolerance: float | None) -> tuple[Tensor, Tensor]:
    check_matrices(A)
    check_tolerance(tolerance)
    if not torch.compiler.is_compiling() and is_sharded(A):
        values, vectors = on_shards(lambda part: _solve(part, upper, tolerance), A)
        return values, vectors
    if A.dtype in LOW:
        values, vectors = _solve(A.float(), upper, tolerance)
        return values.to(A.dtype), vectors.to(A.dtype)
    if tolerance is None and not _ops.has_kernel(A):
        values, vectors = _stock(A, "U" if upper else "L")
        return values, vectors
    if torch.compiler.is_compiling():
        values, vectors = Eigh.apply(A, upper, tolerance)
        return values, vectors
    try:
        values, vectors = EighForward.apply(A, upper, tolerance)
    except RuntimeError:
        if type(A) is Tensor and A.is_cpu and torch._C._functorch.maybe_current_level() is None:
            _explain(A, upper)
        raise
    return values, vectors


def _solve_values(A: Tensor, upper: bool) -> Tensor:
    if not torch.compiler.is_compiling() and is_sharded(A):
        check_matrices(A)
        return on_shards(lambda part: (_solve_values(part, upper),), A)[0]
    needs_vectors = A.requires_grad or forward_ad._current_level >= 0
    if A.dtype in NATIVE and _ops.has_kernel(A) and not needs_vectors:
        check_matrices(A)
        return _ops.eigvalsh(A, upper)  # type: ignore[no-any-return]
    return _solve(A, upper, None)[0]


def _filled(A: Tensor, out: tuple[Tensor, ...], results: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    check_out(A, out, results)
    for target, result in zip(out, results, strict=True):
        if target.shape != result.shape:
            target.resize_(result.shape)
        target.copy_(result)
    return out
