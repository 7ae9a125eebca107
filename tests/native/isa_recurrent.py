"""Run by test_native.py with OSTINATO_ISA set: LSTM layers against float64."""

from __future__ import annotations

import copy

import torch

import ostinato as ost
from ostinato import _native


def check(time, batch, inputs, hidden, scale):
    module = torch.nn.LSTM(inputs, hidden, bidirectional=True).eval()
    x = torch.randn(time, batch, inputs) * scale
    graph = ost.accelerator.Graph(numerics="fast")
    with torch.no_grad(), graph:
        y, (h, c) = module(x)
    assert graph.stats()["steps"]["fused"] == 2
    x.copy_(torch.randn(time, batch, inputs) * scale)
    graph.replay()
    with torch.no_grad():
        want_y, (want_h, want_c) = copy.deepcopy(module).double()(x.double())
    for got, want in ((y, want_y), (h, want_h), (c, want_c)):
        assert (got - want).abs().max() <= 2e-6 * (1 + scale)


if __name__ == "__main__":
    torch.manual_seed(0)
    for hidden in (1, 3, 4, 7, 8, 15, 16, 17, 33, 64):
        for scale in (1.0, 20.0):
            check(1, 1, 5, hidden, scale)
            check(4, 3, 9, hidden, scale)
    print(_native.info()["isa"])
