"""What is raised where matrices cannot be solved, or arguments make no sense."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .._errors import OstinatoError, fail
from . import _ops

# What the kernels solve, and what is computed in float32 on its way.
NATIVE = frozenset((torch.float32, torch.float64, torch.complex64, torch.complex128))
LOW = frozenset((torch.float16, torch.bfloat16))


_LinAlgError: Any = torch.linalg.LinAlgError  # type: ignore[attr-defined]


class EighError(OstinatoError, _LinAlgError):  # type: ignore[misc]
    """A matrix of the batch has no finite eigenvalues, or they were not found. ``index`` says which."""

    index: tuple[int, ...]


def check_matrices(A: Tensor) -> None:
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise fail("linalg.shape", shape=list(A.shape))
    if A.dtype not in NATIVE and A.dtype not in LOW:
        raise fail("linalg.dtype", dtype=A.dtype)


def failure(A: Tensor, upper: bool) -> EighError | None:
    """Why this A cannot be solved, or None; an error of the arguments is raised at once."""
    check_matrices(A)
    info = _ops.eigh_ex(A.detach(), upper)[2]
    bad = info.flatten().nonzero()
    if not len(bad):
        return None
    first = int(bad[0])
    index = tuple(int(i) for i in torch.unravel_index(bad[0], info.shape)) if info.ndim else ()
    code = "linalg.not_finite" if int(info.flatten()[first]) > 0 else "linalg.not_converged"
    where = f"A[{', '.join(map(str, index))}]" if index else "A"
    said = fail(code, where=where, count=len(bad))
    error = EighError(said.message, said.hint, said.code)
    error.index = index
    return error


def check_subset(subset: Any, n: int) -> tuple[int, int]:
    """Of ``subset_by_index``: the first and the last index, both included."""
    first, last = (int(i) for i in subset) if len(subset) == 2 else (-1, -1)
    if not 0 <= first <= last < n:
        raise fail("linalg.subset", subset=tuple(subset), n=n)
    return first, last


def check_tolerance(tolerance: float | None) -> None:
    if tolerance is not None and not 0 <= tolerance < float("inf"):
        raise fail("linalg.gap_tolerance", value=tolerance)


def check_out(A: Tensor, out: tuple[Tensor, ...], results: tuple[Tensor, ...]) -> None:
    if len(out) != len(results):
        raise fail("linalg.out", what=f"{len(out)} tensors", want=f"{len(results)}")
    if torch.is_grad_enabled() and any(t.requires_grad for t in (A, *out)):
        raise fail("linalg.out_grad")
    for target, result in zip(out, results, strict=True):
        if target.device != result.device or not torch.can_cast(result.dtype, target.dtype):
            have, want = (f"{t.dtype} on {t.device}" for t in (target, result))
            raise fail("linalg.out", what=have, want=want)
