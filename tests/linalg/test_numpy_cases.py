"""NumPy's own test cases of ``eigh`` and ``eigvalsh``, with the functions swapped for ours."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ostinato as ost

suite = pytest.importorskip("numpy.linalg.tests.test_linalg")
EIGH = (suite.TestEighCases, suite.TestEigvalshCases)


def _tensor(a):
    """What NumPy would compute on: whole numbers as doubles."""
    a = np.array(a)
    return torch.from_numpy(a if a.dtype.kind in "fc" else a.astype(np.float64))


class _Swapped:
    """``numpy.linalg`` to the suite, with two of its functions ours."""

    def __getattr__(self, name):
        return getattr(np.linalg, name)

    @staticmethod
    def eigh(a, UPLO="L"):
        return np.linalg._linalg.EighResult(*(t.numpy() for t in ost.linalg.eigh(_tensor(a), UPLO)))

    @staticmethod
    def eigvalsh(a, UPLO="L"):
        return ost.linalg.eigvalsh(_tensor(a), UPLO).numpy()


@pytest.mark.parametrize("kind", EIGH, ids=lambda kind: kind.__name__)
def test_numpy_cases(kind, monkeypatch):
    swapped = _Swapped()
    monkeypatch.setattr(suite, "linalg", swapped)
    tests = kind()
    count = 0
    for name in dir(tests):
        if name.startswith("test_") and "generalized" not in name:
            getattr(tests, name)()
            count += 1
    print(f"{kind.__name__}: {count} groups of cases")
    assert count >= 2
