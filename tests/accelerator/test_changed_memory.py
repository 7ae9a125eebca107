"""Memory and names that change under a graph after its capture."""

from __future__ import annotations

import gc

import pytest
import torch

from ostinato.accelerator import CaptureError, ReplayError, graphed, make_graphed_callables

from .support import capture, refuses

# What computes from x: by the engine alone, or with a step of Python's first or last.
PROGRAMS = {
    "native": lambda x: x * 2,
    "python": lambda x: torch.addcmul(x, x, x),
    "python first": lambda x: torch.addcmul(x, x, x) * 2,
    "product": lambda x: x.view(10, 10) @ x.view(10, 10),
    "condition": lambda x: torch.cond(x.sum() > 1e9, torch.sin, torch.cos, (x,)),
}


@pytest.fixture(params=PROGRAMS)
def captured(request):
    x = torch.ones(100)
    graph, y = capture(lambda: PROGRAMS[request.param](x))
    return graph, x, y, lambda: PROGRAMS[request.param](x)


# ---- memory that goes or moves ------------------------------------------------
@pytest.mark.parametrize("which", ["input", "output"])
@pytest.mark.parametrize("nbytes", [0, 396])
def test_a_storage_that_has_become_too_small(captured, which, nbytes):
    graph, x, y, _ = captured
    graph.replay()
    (x if which == "input" else y).untyped_storage().resize_(nbytes)
    error = refuses(graph.replay, ReplayError, "memory_gone")
    assert error.message == (
        "A tensor that the graph uses has been freed, or resized to less than it had at the capture."
    )


@pytest.mark.parametrize("which", ["input", "output"])
def test_a_storage_that_has_become_larger_or_came_back(captured, which):
    graph, x, y, program = captured
    storage = (x if which == "input" else y).untyped_storage()
    storage.resize_(0)
    refuses(graph.replay, ReplayError, "memory_gone")
    others = [torch.zeros(100) for _ in range(3)]  # so that it comes back elsewhere
    storage.resize_(400)
    x.fill_(3)
    graph.replay()
    assert torch.equal(y, program())
    storage.resize_(40_000)
    x.fill_(4)
    graph.replay()
    assert torch.equal(y, program())
    del others


def test_a_graph_keeps_what_the_caller_drops():
    held = [torch.full((100,), 3.0)]
    graph, y = capture(lambda: held[0] + 1)
    held.clear()
    gc.collect()
    torch.zeros(100), torch.zeros(100)
    graph.replay()
    assert y.tolist() == [4] * 100


def test_outputs_outlive_their_graph():
    x = torch.ones(100)
    graph, y = capture(lambda: (x + 1).sin() * 2)
    graph.replay()
    want = y.clone()
    del graph
    gc.collect()
    torch.full((100,), 7.0)
    assert torch.equal(y, want)


def test_held_outputs_are_overwritten_and_those_of_graphed_are_not():
    x = torch.ones(2)
    graph, y = capture(lambda: x * 2)
    held = y
    x.fill_(5)
    graph.replay()
    assert held is y
    assert held.tolist() == [10, 10]
    call = graphed(lambda t: t * 2)
    first = call(torch.ones(2))
    call(torch.full((2,), 5.0))
    assert first.tolist() == [2, 2]


# ---- names that are bound to other things -------------------------------------
def _set(tensor, value):
    tensor.set_(value)


def _data(tensor, value):
    tensor.data = value


@pytest.mark.parametrize("rebind", [_set, _data])
def test_a_tensor_that_was_rebound_is_used_as_it_was(rebind):
    """By address: what the name means later is no business of the graph."""
    x = torch.ones(3)
    graph, y = capture(lambda: x + 1)
    rebind(x, torch.full((3,), 9.0))
    graph.replay()
    assert y.tolist() == [2, 2, 2]


def test_a_graph_goes_on_with_a_parameter_that_was_replaced():
    layer, x = torch.nn.Linear(3, 3), torch.ones(3)
    with torch.no_grad():
        graph, y = capture(lambda: layer(x))
        want = layer(x)
        layer.weight = torch.nn.Parameter(torch.zeros(3, 3))
        graph.replay()
    assert torch.equal(y, want)


def _replace(module):
    module[0].weight = torch.nn.Parameter(torch.ones(3, 3))


def _replace_layer(module):
    module[0] = torch.nn.Linear(3, 3)


def _assign(module):
    module.load_state_dict({k: v + 1 for k, v in module.state_dict().items()}, assign=True)


def _move(module):
    for parameter in module.parameters():
        parameter.data = parameter.data + 1


def _freeze(module):
    module[0].weight.requires_grad_(False)


def _net():
    return torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)).eval()


CHANGES = [_replace, _replace_layer, _assign, _move, _freeze]


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__.strip("_"))
def test_graphed_captures_anew_where_its_module_holds_other_things(change):
    module, x = _net(), torch.randn(2, 3)
    call = graphed(module, numerics="exact")
    call(x).sum().backward()
    module.zero_grad()
    change(module)
    y = call(x)
    assert torch.equal(y, module(x))
    y.square().sum().backward()
    got = [p.grad for p in module.parameters()]
    module.zero_grad()
    module(x).square().sum().backward()
    for mine, parameter in zip(got, module.parameters(), strict=True):
        assert (mine is None) == (parameter.grad is None)
        assert mine is None or torch.equal(mine, parameter.grad)
    assert call.graphs == 1


@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__.strip("_"))
def test_make_graphed_callables_says_so(change):
    module, x = _net(), torch.randn(2, 3)
    make_graphed_callables(module, (x,))
    change(module)
    error = refuses(lambda: module(x), ReplayError, "replaced")
    assert "was replaced, moved to other memory or given another requires_grad" in error.message
    assert "load_state_dict" in error.hint
    assert error.message.split()[0] in ("Linear.weight", "Sequential.0")


def test_weights_that_are_written_in_place_are_seen():
    module, x = _net(), torch.randn(2, 3)
    call = graphed(module, numerics="exact")
    made = make_graphed_callables(_net(), (x,))
    for target in (module, made):
        run = call if target is module else made
        before = run(x).clone()
        target.load_state_dict({k: v * 2 for k, v in target.state_dict().items()})
        after = run(x).clone()
        assert not torch.equal(before, after)
        target.train(), target.eval()
        assert torch.equal(after, torch.nn.Sequential.forward(target, x))


class Caching(torch.nn.Module):
    """Fills a buffer with its first call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", None)

    def forward(self, x):
        if self.table is None:
            self.table = torch.arange(3.0) + 1
        return x * self.table


class Counting(torch.nn.Module):
    """Binds its buffer to another tensor with each call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.count = self.count + 1
        return x + self.count


def test_a_module_that_keeps_something_with_its_first_call():
    module = Caching()
    call = graphed(module)
    for value in (1.0, 2.0):
        assert call(torch.full((3,), value)).tolist() == [value, 2 * value, 3 * value]
    assert call.graphs == 1


def test_a_module_that_rebinds_at_each_call_is_refused():
    for call in (
        lambda: graphed(Counting())(torch.ones(2)),
        lambda: make_graphed_callables(Counting(), (torch.ones(2),)),
    ):
        error = refuses(call, CaptureError, "rebound")
        assert "Counting.count" in error.message
        assert "in place" in error.hint
