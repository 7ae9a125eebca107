"""Messages of ``linalg``: what: (class, message, hint)."""

from __future__ import annotations

from ._base import OstinatoError, UsageError

MESSAGES: dict[str, tuple[type[OstinatoError], str, str]] = {
    "shape": (
        UsageError,
        "A has shape {shape}, and must be a square matrix or a batch of square matrices.",
        "the last two sizes must be equal",
    ),
    "dtype": (
        UsageError,
        "A has dtype {dtype}, and must be real or complex floating point.",
        "convert it first: A.double()",
    ),
    "uplo": (
        UsageError,
        "UPLO={value!r} is neither 'L' nor 'U'.",
        "'L' reads the lower triangle of A, 'U' the upper one",
    ),
    "subset": (
        UsageError,
        "subset_by_index={subset} does not lie within the {n} eigenvalues.",
        "pass (first, last), both included, with 0 <= first <= last < n",
    ),
    "gap_tolerance": (
        UsageError,
        "gap_tolerance={value!r} is no tolerance.",
        "pass a number such as 1e-5, relative to the largest eigenvalue, or None",
    ),
    "out": (
        UsageError,
        "out= is {what}, and the result is {want}.",
        "pass as many tensors as there are results, of their dtype and device",
    ),
    "out_grad": (
        UsageError,
        "out= was given, and a gradient is asked for.",
        "leave out= away, or call it under torch.no_grad()",
    ),
    "not_finite": (
        OstinatoError,
        "{where} holds a NaN or an infinity in the triangle that is read; bad matrices in all: {count}.",
        "eigh_ex solves the others, and says which are bad",
    ),
    "not_converged": (
        OstinatoError,
        "The eigenvalues of {where} were not found; bad matrices in all: {count}.",
        "try it in float64; eigh_ex gives the results of the others",
    ),
}
