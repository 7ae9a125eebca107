"""Run in a process of its own with OSTINATO_ISA set: optimizers and norms, on full vectors and rests."""

from __future__ import annotations

import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from ostinato import _native
from tests.optim.support import CLASSES, ours, parameters, stock, train, twins

SHAPES = [(n,) for n in (1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 1000)]
TOLERANCE = {torch.float32: 2e-6, torch.float64: 1e-12, torch.bfloat16: 4e-2, torch.float16: 4e-3}


def main() -> None:
    for dtype, tolerance in TOLERANCE.items():
        for name in CLASSES:
            options = {"momentum": 0.9} if name == "SGD" else {}
            params = parameters(dtype, SHAPES)
            wide = twins(params)
            train((ours(name, params, **options), params), (stock(name, wide, **options), wide), steps=2)
            for p, q in zip(params, wide, strict=True):
                torch.testing.assert_close(p.double(), q.double(), rtol=tolerance, atol=tolerance)
        grads = [p.grad for p in params]
        norm = torch.cat([g.double() for g in grads if g is not None]).norm()
        torch.testing.assert_close(_native.ops().gradient_norm(grads), norm, rtol=1e-14, atol=0)
    print(_native.info()["isa"])


if __name__ == "__main__":
    main()
