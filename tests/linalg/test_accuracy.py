"""Every path on every kind of matrix, against double precision."""

from __future__ import annotations

import pytest
import torch

import ostinato as ost

from .zoo import DTYPES, check, check_values, matrices, random

# Closed loops, remainders of blocks, sizes of the kernels and of LAPACK.
SIZES = (1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 40, 64, 100, 210)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", SIZES)
def test_the_zoo(n, dtype):
    zoo = matrices(n, dtype)
    A = torch.stack([*zoo.values()] * (1 if n > 100 else 2))
    check(A, *ost.linalg.eigh(A))
    check_values(A, ost.linalg.eigvalsh(A))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [*SIZES[:-1], 129])
def test_the_zoo_one_by_one(n, dtype):
    """A lone matrix has all lanes for itself; from 129 on LAPACK solves it."""
    zoo = list(matrices(n, dtype).values())
    values, vectors = (torch.stack(each) for each in zip(*map(ost.linalg.eigh, zoo), strict=True))
    check(torch.stack(zoo), values, vectors)
    check_values(torch.stack(zoo), torch.stack([ost.linalg.eigvalsh(A) for A in zoo]))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 6, 16, 33])
@pytest.mark.parametrize("UPLO", ["L", "U"])
@pytest.mark.parametrize("batch", [(), (1,), (3, 2), (19,)])
def test_one_triangle_is_read(n, dtype, UPLO, batch):
    A = torch.randn(*batch, n, n, dtype=dtype)
    other = torch.triu(torch.ones(n, n), 1).bool()
    A[..., other if UPLO == "L" else other.mT] = float("nan")
    if dtype.is_complex:
        A.diagonal(dim1=-2, dim2=-1).imag.fill_(float("nan") if n <= 32 else 0.0)  # LAPACK's own rule beyond
    clean = torch.nan_to_num(A, nan=0.0)
    for given in (A, A.mT.contiguous().mT, torch.stack([A, A], -1)[..., 0]):
        values, vectors = ost.linalg.eigh(given, UPLO)
        check(clean, values, vectors, UPLO)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [2, 3, 5, 20, 240])
def test_a_bad_matrix_harms_no_other(n, dtype):
    A = torch.stack([random(n, dtype, seed) for seed in range(9)])
    expected = ost.linalg.eigh(A)
    A[2, n - 1, 0] = float("nan")
    A[7, 0, 0] = float("inf")
    values, vectors, info = ost.linalg.eigh_ex(A)
    assert info.tolist() == [0, 0, 1, 0, 0, 0, 0, 1, 0]
    good = info == 0
    assert torch.equal(values[good], expected.eigenvalues[good])
    assert torch.equal(vectors[good], expected.eigenvectors[good])
    assert values[~good].isnan().all()
    assert vectors[~good].isnan().all()
    for function in (ost.linalg.eigh, ost.linalg.eigvalsh):
        with pytest.raises(torch.linalg.LinAlgError, match=r"A\[2\] holds a NaN") as caught:
            function(A)
        assert caught.value.index == (2,)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [1, 3, 20, 100, 240])
def test_a_bad_matrix_alone(n, dtype):
    A = random(n, dtype)
    A[n - 1, 0] = float("nan")
    values, vectors, info = ost.linalg.eigh_ex(A)
    assert info.item() == 1
    assert values.isnan().all()
    assert vectors.isnan().all()
    for function in (ost.linalg.eigh, ost.linalg.eigvalsh):
        with pytest.raises(torch.linalg.LinAlgError, match="A holds a NaN") as caught:
            function(A)
        assert caught.value.index == ()
        with pytest.raises(torch.linalg.LinAlgError, match="A holds a NaN"):
            function(A.clone().requires_grad_())


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("n", "batch"), [(3, 150), (12, 150), (48, 40), (48, 3), (130, 6), (261, 4)])
def test_threads_do_not_change_the_result(n, batch, dtype):
    A = torch.stack([random(n, dtype, seed) for seed in range(batch)])
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3, 1):
            torch.set_num_threads(threads)
            results.append((*ost.linalg.eigh(A), ost.linalg.eigvalsh(A)))
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert all(map(torch.equal, results[0], other))


@pytest.mark.parametrize(("n", "batch"), [(9, 23), (48, 3), (261, 4)])
def test_the_place_in_a_batch_does_not_change_the_result(n, batch):
    """LAPACK's digits depend on the alignment of its memory: 261 puts each matrix elsewhere in its line."""
    A = torch.stack([random(n, torch.float64, seed) for seed in range(batch)])
    forwards, backwards = ost.linalg.eigh(A), ost.linalg.eigh(A.flip(0))
    assert torch.equal(forwards.eigenvalues, backwards.eigenvalues.flip(0))
    assert torch.equal(forwards.eigenvectors, backwards.eigenvectors.flip(0))


@pytest.mark.parametrize("exponent", [-3, 0, 10, 30])
def test_covariances_of_points_at_any_scale(exponent):
    """Scales at which closed formulas lose their digits; half of the clouds are flat."""
    points = torch.randn(500, 20, 3)
    points[::2, :, 2] = 0
    covariance = (points.mT @ points / 20) * 10.0**exponent
    values, vectors = ost.linalg.eigh(covariance)
    check(covariance, values, vectors)
    assert (vectors[::2, 2, 0].abs() > 1 - 1e-5).all()  # the normal of a flat cloud


def test_many_small_matrices_need_no_memory_beside_the_result():
    """Three million matrices of 3x3: pytorch issue 121482."""
    A = torch.eye(3).expand(144, 144, 144, 3, 3)
    values = ost.linalg.eigvalsh(A)
    assert values.shape == (144, 144, 144, 3)
    assert (values == 1).all()
