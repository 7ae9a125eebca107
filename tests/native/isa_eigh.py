"""Run in a process of its own with OSTINATO_ISA set: hard Hermitian matrices, on full lanes and a rest."""

from __future__ import annotations

import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

import ostinato as ost
from ostinato import _native
from tests.linalg.zoo import DTYPES, check, matrices


def main() -> None:
    for dtype in DTYPES:
        for n in (1, 2, 3, 4, 6, 11, 24, 41):
            A = torch.stack([*matrices(n, dtype).values()] * 2)[:-1]
            for UPLO in "LU":
                values, vectors = ost.linalg.eigh(A, UPLO)
                check(A, values, vectors, UPLO)
                alone = ost.linalg.eigvalsh(A, UPLO)
                size = A.abs().amax((-2, -1), keepdim=True).squeeze(-1) * n
                limit = 10 * n * torch.finfo(values.dtype).eps * size + n * 1e-44
                assert ((values - alone).abs() <= limit).all(), (dtype, n, UPLO)


if __name__ == "__main__":
    main()
    print(_native.info()["isa"])
