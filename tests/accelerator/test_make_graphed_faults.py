"""make_graphed_callables and graphed without the faults that are known of torch.cuda's.

The numbers are those of issues at pytorch/pytorch.
"""

from __future__ import annotations

import copy

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import ostinato as ost
from ostinato.accelerator import CaptureError, ReplayError, graphed, make_graphed_callables

from .graphed_nets import grads, net, pair
from .support import assert_identical, refuses

F = torch.nn.functional


def test_84614_dropout_draws_anew_with_each_replay():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Dropout(0.5))
    eager = copy.deepcopy(module)
    make_graphed_callables(module, (torch.randn(40, 6),))
    x = torch.randn(40, 6)
    masks = set()
    for seed in (1, 2, None, None):
        if seed is not None:
            torch.manual_seed(seed)
        state = torch.get_rng_state()
        got = module(x)
        masks.add(tuple((got == 0).flatten().tolist()))
        got.sum().backward()
        after = torch.get_rng_state()
        torch.set_rng_state(state)
        want = eager(x)
        want.sum().backward()
        assert_identical([got, *grads(module)], [want, *grads(eager)])
        assert torch.equal(after, torch.get_rng_state())
    assert len(masks) == 4


def test_120930_autocast_is_off_in_the_backward():
    """Made under autocast, called under autocast: the backward is that of eager, outside of autocast."""
    dtypes = []

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            dtypes.append((x.float() @ x.float().t()).dtype)
            return 2 * x * grad + (x.float() @ x.float().t() @ x.float()).to(x.dtype)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = net()

        def forward(self, x):
            return Square.apply(self.layers(x))

    module, eager = Model(), Model()
    with torch.autocast("cpu", torch.bfloat16):
        make_graphed_callables(module, (torch.randn(4, 6, requires_grad=True),))
    for _ in range(2):
        x = torch.randn(4, 6)
        inputs = [x.clone().requires_grad_() for _ in range(2)]
        for m, each in zip((module, eager), inputs, strict=True):
            with torch.autocast("cpu", torch.bfloat16):
                out = m(each).sum()
            out.backward()
        assert_identical([inputs[0].grad, *grads(module)], [inputs[1].grad, *grads(eager)])
    assert set(dtypes) == {torch.float32}


@pytest.mark.parametrize("cache", [True, False])
def test_71631_casts_of_weights_that_autocast_keeps(cache):
    """A cast made before, in the warm-up or in the capture may not be what a replay uses; nor outlive it."""
    module, eager, x = net(), net(), torch.randn(4, 6)
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=cache):
        module(x), eager(x)  # fills the cache
        make_graphed_callables(module, (torch.randn(4, 6),))
        for _ in range(3):
            with torch.no_grad():
                for m in (module, eager):
                    for p in m.parameters():
                        p.mul_(1.5)
            torch.clear_autocast_cache()
            got, want = module(x), eager(x)
            assert_identical(got, want)
        got, want = got.float().square().sum(), want.float().square().sum()
    got.backward()
    want.backward()
    assert_identical(grads(module), grads(eager))


def test_181723_gradients_are_the_parameters_own():
    """The memory that each backward replay overwrites is not what becomes the .grad."""
    module, eager = pair()
    x, z = torch.randn(4, 6), torch.randn(4, 6)
    for m in (module, eager):
        m(x).square().sum().backward()
    kept = grads(module)
    before = [g.clone() for g in kept]
    for p in (*module.parameters(), *eager.parameters()):
        p.grad = None
    for m in (module, eager):
        m(z).square().sum().backward()
    assert_identical(kept, before)
    assert_identical(grads(module), grads(eager))
    for m in (module, eager):
        m(x).square().sum().backward()  # accumulates
    assert_identical(grads(module), grads(eager))


@pytest.mark.parametrize("make", ["make_graphed_callables", "graphed", "graphed, gradients"])
def test_178586_inputs_that_the_callable_changes(make):
    weight = torch.ones(3, requires_grad=make.endswith("gradients"))

    def function(x, cache, y):
        cache.roll(1, 0).add_(1)  # of a copy: nothing to hand back
        with torch.no_grad():
            cache[0].copy_(cache[1] + 1)
            y.detach().mul_(2)
        return x * cache.sum() * weight

    if make == "make_graphed_callables":
        call = make_graphed_callables(function, (torch.ones(3), torch.ones(2, 3), torch.ones(3)))
    else:
        call = graphed(function, numerics="exact")
    both = [(torch.randn(3), torch.arange(6.0).view(2, 3), torch.ones(3)) for _ in range(2)]
    both[1] = tuple(t.clone() for t in both[0])
    for _ in range(3):
        version = both[0][1]._version
        assert_identical(call(*both[0]), function(*both[1]))
        assert_identical(both[0], both[1])
        assert both[0][1]._version > version
        assert both[0][0]._version == 0


MAKERS = {
    "make_graphed_callables": lambda function, *samples: make_graphed_callables(
        function, samples, num_warmup_iters=0
    ),
    "graphed": lambda function, *samples: graphed(function, numerics="exact"),
}


@pytest.mark.parametrize("make", MAKERS)
def test_178586_a_change_that_autograd_follows_is_refused(make):
    weight = torch.ones(3, requires_grad=True)

    def function(x):
        x.add_(weight)
        return x * 2

    error = refuses(
        lambda: MAKERS[make](function, torch.ones(3))(torch.ones(3)), CaptureError, "argument_grad"
    )
    assert "no gradient could flow" in error.message


@pytest.mark.parametrize("make", MAKERS)
def test_178586_a_changed_argument_that_overlaps_another(make):
    def function(x, y):
        x.add_(1)
        return x + y

    call = MAKERS[make](function, torch.ones(3), torch.ones(3))
    x = torch.arange(6.0)
    call(x[:3], x[3:])
    assert x.tolist() == [1, 2, 3, 3, 4, 5]
    refuses(lambda: call(x[:3], x[2:5]), ost.UsageError, "argument_shared")
    refuses(lambda: call(x[:3], x[:3]), ost.UsageError, "argument_shared")


def test_what_the_backward_needs_and_the_callable_changes_is_eagers_error():
    def function(x, weight):
        y = x * weight
        x.add_(1)
        return y

    args = torch.ones(3), torch.ones(3, requires_grad=True)
    for call in (lambda: make_graphed_callables(function, args), lambda: graphed(function)(*args)):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            call()


@pytest.mark.parametrize("make", MAKERS)
def test_checkpointing_in_graphs_of_forward_and_backward(make):
    """Without random numbers as in eager; with them the two graphs would draw different ones."""
    weight = torch.randn(6, 6, requires_grad=True)

    def function(x, drop):
        return checkpoint(lambda t: F.dropout(t @ weight, drop).tanh(), x, use_reentrant=False)

    def plain(x):
        return function(x, 0.0)

    x = torch.randn(4, 6, requires_grad=True)
    got = torch.autograd.grad(MAKERS[make](plain, x)(x).sum(), x)
    assert_identical(got, torch.autograd.grad(plain(x).sum(), x))
    error = refuses(lambda: MAKERS[make](lambda t: function(t, 0.5), x)(x), CaptureError, "drawn_again")
    assert "one Graph" in error.hint


# ---- several calls before their backward --------------------------------------
def test_a_backward_after_a_later_call_is_refused_not_wrong():
    module, _ = pair()
    first, second = (module(torch.randn(4, 6)) for _ in range(2))
    second.sum().backward()
    error = refuses(lambda: first.sum().backward(), ReplayError, "overwritten")
    assert "graphed" in error.hint


def test_graphed_has_a_graph_for_each_call_that_waits_for_its_backward():
    module, eager = net(), net()
    call = graphed(module, numerics="exact", max_graphs=3)
    for count in (1, 2, 5, 1):  # of the five the last ones run eagerly
        inputs = [torch.randn(4, 6) for _ in range(count)]
        for run, m in ((call, module), (eager, eager)):
            m.zero_grad()
            losses = [run(x).square().sum() for x in inputs]
            for loss in losses[::-1]:
                loss.backward(retain_graph=True)
            losses[0].backward()
        assert_identical(grads(module), grads(eager))
    assert len(next(iter(call._captured.values()))[1]._graphs) == 3


def test_calls_whose_backward_never_comes_make_no_more_graphs():
    call = graphed(net())
    for _ in range(5):
        call(torch.randn(4, 6))
    assert len(next(iter(call._captured.values()))[1]._graphs) == 1
