"""SciPy's own test cases of ``eigh`` that need no second matrix, with the functions swapped for ours."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ostinato as ost

suite = pytest.importorskip("scipy.linalg.tests.test_decomp")


def _tensor(a):
    """What SciPy would compute on: whole numbers as doubles."""
    a = np.array(a)
    return torch.from_numpy(a if a.dtype.kind in "fc" else a.astype(np.float64))


def _eigh(a, *, eigvals_only=False, driver=None):
    """Which driver is asked for changes nothing: the results must be right for each."""
    if eigvals_only:
        return ost.linalg.eigvalsh(_tensor(a)).numpy()
    return tuple(t.numpy() for t in ost.linalg.eigh(_tensor(a)))


def test_scipy_cases(monkeypatch):
    monkeypatch.setattr(suite, "eigh", _eigh)
    tests, count = suite.TestEigh(), 0
    for dtype in suite.DTYPES:
        tests.test_various_drivers_standard("evr", dtype)
        count += 1
    for dtype in (int, float, np.float32, complex, np.complex64):
        tests.test_empty(dtype)
        count += 1
    tests.test_1x1_lwork("evd")
    print(f"TestEigh: {count + 1} cases")
    assert count >= 9


@pytest.mark.parametrize("dtype", suite.DTYPES)
def test_parts_of_the_spectrum_are_scipy_s(dtype):
    from scipy.linalg import eigh

    A = suite._random_hermitian_matrix(20, dtype=dtype)
    tolerance = 1000 * np.finfo(dtype).eps
    for first, last in ((0, 0), (2, 11), (19, 19), (0, 19)):
        values, vectors = ost.linalg.eigh(_tensor(A), subset_by_index=(first, last))
        expected = eigh(A, eigvals_only=True, subset_by_index=(first, last))
        np.testing.assert_allclose(values.numpy(), expected, atol=tolerance)
        V = vectors.numpy()
        np.testing.assert_allclose(A @ V - V * values.numpy(), 0, atol=tolerance)
        assert V.shape == (20, last - first + 1)
