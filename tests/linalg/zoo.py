"""Hermitian matrices that are hard in some way, and how well a decomposition fits them."""

from __future__ import annotations

import torch

DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def random(n, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    A = torch.randn(n, n, dtype=dtype, generator=generator)
    return (A + A.mH) / 2


def with_spectrum(values, dtype):
    n = len(values)
    Q = torch.linalg.qr(random(n, torch.complex128 if dtype.is_complex else torch.float64, seed=n))[0]
    A = (Q * torch.as_tensor(values, dtype=torch.float64)) @ Q.mH
    return ((A + A.mH) / 2).to(dtype)


def wilkinson(n, dtype):
    k = torch.arange(n, dtype=torch.float64)
    off = torch.ones(max(n - 1, 0), dtype=torch.float64)
    return (torch.diag((k - (n - 1) / 2).abs()) + torch.diag(off, 1) + torch.diag(off, -1)).to(dtype)


def kahan(n, dtype):
    s, c = 0.8, 0.6
    R = torch.eye(n, dtype=torch.float64) - c * torch.triu(torch.ones(n, n, dtype=torch.float64), 1)
    R = torch.diag(s ** torch.arange(n, dtype=torch.float64)) @ R
    return (R @ R.mT).to(dtype)


def matrices(n, dtype):
    """name -> matrix."""
    real = dtype.to_real()
    big, least = (1e30, 1e-30) if real is torch.float32 else (1e300, 1e-300)
    ones = torch.ones(n, dtype=dtype)
    plain = random(n, dtype)
    return {
        "random": plain,
        "graded": torch.diag(10.0 ** -torch.linspace(0, 12, n, dtype=real)).to(dtype) + 1e-6 * plain,
        "wilkinson": wilkinson(n, dtype),
        "kahan": kahan(n, dtype),
        "clustered": with_spectrum([1 + 1e-7 * (i % 3) + (i > n // 2) for i in range(n)], dtype),
        "repeated": with_spectrum([float(i % 2) for i in range(n)], dtype),
        "identity": torch.eye(n, dtype=dtype),
        "diagonal": torch.diag(torch.randn(n, dtype=real, generator=torch.Generator().manual_seed(1))).to(
            dtype
        ),
        "zero": torch.zeros(n, n, dtype=dtype),
        "rank one": torch.outer(ones, ones),
        "large": plain * big,
        "small": plain * least,
        "denormal": plain * torch.finfo(real).tiny / 8,
        "one entry": torch.diag(ones * 0).index_put((torch.tensor(n - 1), torch.tensor(0)), ones[0]),
    }


def hermitian(A, UPLO="L"):
    """The matrix that the named triangle stands for, in double precision."""
    A = A.to(torch.complex128 if A.is_complex() else torch.float64)
    half = torch.tril(A, -1) if UPLO == "L" else torch.triu(A, 1)
    return half + half.mH + torch.diag_embed(torch.real(A.diagonal(dim1=-2, dim2=-1))).to(A.dtype)


def check(A, values, vectors, UPLO="L"):
    """Residual and orthogonality within 10 n eps, and ascending order."""
    n, real = A.shape[-1], values.dtype
    eps, least = torch.finfo(real).eps, torch.finfo(real).smallest_normal * torch.finfo(real).eps
    H = hermitian(A, UPLO)
    # A power of two out of the way, so that the oracle itself neither overflows nor loses digits.
    size = H.abs().amax((-2, -1), keepdim=True)
    scale = torch.where(size > 0, torch.exp2(-torch.log2(size.clamp(min=1e-300)).round()), 1.0)
    V, w = vectors.to(H.dtype), values.double().unsqueeze(-2)
    residual = ((H * scale) @ V - V * (w * scale)).abs().amax((-2, -1))
    norm = torch.linalg.matrix_norm(H * scale)
    slack = n * least * scale[..., 0, 0]
    assert (residual <= 10 * n * eps * norm + slack).all(), residual.max()
    unit = torch.eye(n, dtype=H.dtype)
    assert ((V.mH @ V - unit).abs().amax((-2, -1)) <= 10 * n * eps).all()
    assert (values.diff(dim=-1) >= 0).all()


def check_values(A, values):
    """Eigenvalues as far from those in double precision as a matrix of norm |A| allows."""
    n = A.shape[-1]
    double = torch.linalg.eigvalsh(hermitian(A))
    norm = A.abs().amax((-2, -1)).double().unsqueeze(-1)
    eps, tiny = torch.finfo(values.dtype).eps, torch.finfo(values.dtype).smallest_normal
    assert ((values - double).abs() <= 10 * n * eps * (n * norm) + n * eps * tiny).all()
