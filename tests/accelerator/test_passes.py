"""The passes of fast numerics that concern no kernel: dead nodes, constants; and memory that moves."""

from __future__ import annotations

import pytest
import torch

import ostinato as ost

from .support import captured

F = torch.nn.functional


def operators(graph):
    return [node.op for node in graph.nodes]


NO_DIMENSIONS = {
    "rms": lambda x: x * torch.rsqrt(x.pow(2).mean(0, keepdim=True) + 1e-5),
    "square and mean": lambda x: x.square().mean(-1, keepdim=True),
    "sum": lambda x: x.sum(0) + x.mean(),
    "softmax": lambda x: x.softmax(0) + x.log_softmax(-1),
    "softmax by hand": lambda x: (x - x.amax(0, keepdim=True)).exp() / x.exp().sum(0),
    "centred": lambda x: (x - x.mean(0, keepdim=True)) / (x.var(0, correction=0) + 1e-5).sqrt(),
    "joined": lambda x: torch.stack([x, x * 2]).sum(),
    "pointwise": lambda x: (x.clone() * 2 + 1).tanh() * x.sigmoid(),
}


@pytest.mark.parametrize("name", NO_DIMENSIONS)
def test_tensors_without_dimensions(name):
    x = torch.tensor(0.7)
    graph, out = captured(lambda: NO_DIMENSIONS[name](x))
    x.fill_(-1.3)
    graph.replay()
    torch.testing.assert_close(out, NO_DIMENSIONS[name](x), rtol=1e-6, atol=1e-6)


def test_a_result_that_nobody_reads_is_not_computed():
    x = torch.randn(8)

    def function():
        torch.linalg.vector_norm(x)
        return x.sort()[0][:4]

    graph, out = captured(function)
    assert len(graph.nodes) == 1
    x.copy_(torch.randn(8))
    graph.replay()
    assert torch.equal(out, x.sort()[0][:4])


def test_what_the_caller_holds_or_a_later_node_reads_stays():
    x, kept = torch.randn(8), []

    def function():
        kept.append(x.cumsum(0))
        y = x.flip(0)
        y[:4].mul_(2)  # through a view: the next node reads all of y
        x.sub_(1)
        return y.sort()[0]

    graph, out = captured(function)
    before = x.clone()
    graph.replay()
    assert torch.equal(kept[0], before.cumsum(0))
    want = before.flip(0)
    want[:4] *= 2
    assert torch.equal(out, want.sort()[0])
    assert torch.equal(x, before - 1)


def test_dead_random_numbers_still_move_the_generator():
    x = torch.zeros(3)

    def function():
        torch.rand(5)
        return x + torch.rand(3)

    torch.manual_seed(1)
    want = function()
    torch.manual_seed(1)
    graph, out = captured(function)
    graph.replay()
    assert torch.equal(out, want)


def test_a_dead_check_still_raises():
    a = torch.eye(3)

    def function():
        torch.linalg.cholesky(a)
        return a * 2

    graph, _ = captured(function)
    a.zero_()
    with pytest.raises(ost.accelerator.ReplayError, match="cholesky"):
        graph.replay()


def test_what_is_made_from_numbers_alone_is_computed_once():
    x = torch.randn(2, 16, 16)

    def function():
        steps = torch.arange(16)
        mask = (steps[:, None] >= steps[None, :]).logical_not()
        return x.masked_fill(mask, -1.0).sort()[0]

    graph, out = captured(function)
    assert not [op for op in operators(graph) if "arange" in op or "ge." in op or "logical_not" in op]
    x.copy_(torch.randn(2, 16, 16))
    graph.replay()
    assert torch.equal(out, function())


def test_a_constant_that_is_changed_later_is_made_anew_at_every_replay():
    x = torch.randn(4)

    def function():
        total = torch.zeros(4)
        total.add_(x)
        return total.cumsum(0), torch.full((3,), 2.0)

    graph, (out, full) = captured(function)
    full.zero_()
    for _ in range(2):
        graph.replay()
    assert torch.equal(out, x.cumsum(0))
    assert torch.equal(full, torch.full((3,), 2.0))  # the caller holds it and may have written to it


def test_exact_numerics_keeps_every_node():
    x = torch.randn(8)
    graph, _ = captured(lambda: (x.cumsum(0), x.sort())[1][0], numerics="exact")
    assert len(graph.nodes) == 2


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_an_input_that_moved_is_found_again_and_one_that_shrank_is_an_error(numerics):
    x = torch.randn(64)
    graph, out = captured(lambda: F.relu(x) * 2, numerics)
    x.untyped_storage().resize_(1 << 20)
    graph.replay()
    assert torch.equal(out, F.relu(x) * 2)
    x.untyped_storage().resize_(0)
    with pytest.raises(ost.accelerator.ReplayError, match="freed, or resized"):
        graph.replay()
