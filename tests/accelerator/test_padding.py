"""Padding of rows in fast numerics: equal to eager, and left to torch where it is something else."""

from __future__ import annotations

import pytest
import torch

import ostinato as ost

F = torch.nn.functional


def padded(x, pad, mode, value=None):
    """The names of the steps; the result has been compared with eager on other numbers."""

    def run():
        return F.pad(x, pad, mode) if value is None else F.pad(x, pad, mode, value)

    graph = ost.accelerator.Graph(numerics="fast")
    with graph:
        out = run()
    x.copy_(torch.randn(x.shape))
    graph.replay()
    assert torch.equal(out, run())
    return [node.op for node in graph.nodes]


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate"])
@pytest.mark.parametrize("pad", [(0, 64), (3, 0), (4, 2), (1, 1)])
def test_rows(mode, pad):
    for x in (torch.randn(1, 576), torch.randn(2, 3, 70), torch.randn(6, 140)[:, 60:130]):
        assert padded(x, pad, mode) == ["ostinato::pad"]
    assert padded(torch.randn(900, 70), pad, mode) == ["ostinato::pad"]


def test_a_number():
    assert padded(torch.randn(3, 5), (2, 9), "constant", -1.5) == ["ostinato::pad"]
    assert padded(torch.randn(5), (2, 9), "constant", float("inf")) == ["ostinato::pad"]


@pytest.mark.parametrize(
    ("x", "pad", "mode"),
    [
        (torch.randn(2, 3, 9), (-1, 2), "constant"),
        (torch.randn(2, 3, 9), (1, 1, 1, 1), "constant"),
        (torch.randn(2, 3, 9, 9), (1, 1, 1, 1), "reflect"),
        (torch.randn(2, 9, 3).transpose(1, 2), (1, 2), "replicate"),
        (torch.randn(2, 3, 9, dtype=torch.float64), (1, 2), "reflect"),
        (torch.randn(2, 0, 9), (1, 2), "constant"),
    ],
)
def test_left_to_torch(x, pad, mode):
    assert "ostinato::pad" not in padded(x, pad, mode)
