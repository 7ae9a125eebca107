"""Run by test_native.py with OSTINATO_ISA set: sums and means against float64."""

from __future__ import annotations

import torch

import ostinato as ost
from ostinato import _native

SHAPES = [(1, 32, 4, 4), (2, 19, 7, 5), (3, 70, 33), (9, 1), (300, 129, 3), (5, 300, 600)]


def any_shape():
    for shape in SHAPES:
        for x in (torch.randn(shape), torch.randn(shape[0], *shape[2:], shape[1]).movedim(-1, 1)):
            for dims in ((0,), (1,), (-1,), tuple(range(1, len(shape))), tuple(range(len(shape)))):
                graph = ost.accelerator.Graph(numerics="fast")
                with graph:
                    out = x.mean(dims), x.sum(dims, keepdim=True)
                x.normal_()
                graph.replay()
                want = x.double().mean(dims), x.double().sum(dims, keepdim=True)
                eager = x.mean(dims), x.sum(dims, keepdim=True)
                usual = 1.0, (x.numel() / want[0].numel()) ** 0.5  # the size of such a sum
                for got, wide, theirs, size in zip(out, want, eager, usual, strict=True):
                    assert (got - wide).abs().max() <= 4 * (theirs - wide).abs().max() + 1e-5 * size


if __name__ == "__main__":
    torch.manual_seed(0)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        any_shape()
    print(_native.info()["isa"])
