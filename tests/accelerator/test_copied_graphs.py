"""Copies and pickles of graphs, and of what holds them."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import sys

import pytest
import torch

import ostinato as ost
from ostinato.accelerator import Graph, graphed, make_graphed_callables

from .support import capture, refuses


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


def saved(thing):
    file = io.BytesIO()
    torch.save(thing, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


WAYS = {"deepcopy": copy.deepcopy, "pickle": pickled, "save": saved}


@pytest.mark.parametrize("way", [*WAYS, "copy"])
@pytest.mark.parametrize("captured", [True, False])
def test_a_graph_refuses(way, captured):
    graph = capture(lambda: torch.ones(2) + 1)[0] if captured else Graph()
    error = refuses(lambda: {**WAYS, "copy": copy.copy}[way](graph), ost.UsageError, "copied")
    assert error.message.startswith("A Graph cannot be copied or pickled")
    assert "graphed" in error.hint
    if captured:
        graph.replay()


def test_a_plan_that_was_never_made_dies_in_silence(monkeypatch):
    from ostinato.accelerator import _plan

    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    _plan.Plan.__new__(_plan.Plan)
    gc.collect()
    assert not unraisable


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("grad", [True, False])
def test_a_graphed_module_is_copied_without_its_graphs(way, grad):
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5)).eval()
    call, x = graphed(module, numerics="exact", max_graphs=3), torch.randn(2, 3)
    with torch.set_grad_enabled(grad):
        call(x)
        other = WAYS[way](call)
        assert (call.graphs, other.graphs) == (1, 0)
        with torch.no_grad():
            for parameter in other._module.parameters():
                parameter.mul_(2)
        assert torch.equal(other(x), other._module(x))
        assert torch.equal(call(x), module(x))
        assert not torch.equal(other(x), call(x))
        other._module.train()
        other(x)  # the flags that it looks at are those of its own module
        assert (call.graphs, other.graphs) == (1, 2)
        for size in range(3, 8):
            other(torch.randn(size, 3))
    assert other.graphs == 3


@graphed
def twice(x):
    return x * 2


class Holder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.fast = graphed(self.layer, numerics="exact")

    def forward(self, x):
        return self.fast(x)

    @graphed
    def scaled(self, x):
        return self.layer(x) * 2


@pytest.mark.parametrize("way", WAYS)
def test_a_decorated_function_is_copied_by_its_name(way):
    twice(torch.ones(2))
    assert WAYS[way](twice) is twice
    lonely = graphed(lambda x: x + 1)
    lonely(torch.ones(2))
    assert copy.deepcopy(lonely)(torch.ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize("way", WAYS)
def test_a_module_that_holds_graphed_callables(way):
    holder, x = Holder(), torch.randn(1, 2)
    with torch.no_grad():
        holder(x), holder.scaled(x)
        other = WAYS[way](holder)
        other.layer.weight.mul_(3)
        assert torch.equal(other(x), other.layer(x))
        torch.testing.assert_close(other.scaled(x), other.layer(x) * 2)
        assert torch.equal(holder(x), holder.layer(x))


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_of_a_module_of_make_graphed_callables_computes_with_its_own_weights(way):
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
    make_graphed_callables(module, (torch.randn(2, 3),))
    other, x = WAYS[way](module), torch.randn(2, 3)
    want = module(x).clone()
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    assert torch.equal(other(x), torch.zeros(2, 3))
    other(x).sum().backward()
    assert other[0].weight.grad is not None
    assert module[0].weight.grad is None
    assert torch.equal(module(x), want)
    assert torch.equal(make_graphed_callables(other, (x,))(x), torch.zeros(2, 3))


def test_an_average_of_a_graphed_module_has_weights_of_its_own():
    module = make_graphed_callables(torch.nn.Linear(2, 2), (torch.randn(1, 2),))
    average, x = torch.optim.swa_utils.AveragedModel(module), torch.randn(1, 2)
    with torch.no_grad():
        first = module(x).clone()
        average.update_parameters(module)
        for parameter in module.parameters():
            parameter.add_(1)
        assert torch.equal(average(x), first)
