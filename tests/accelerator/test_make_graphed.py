"""make_graphed_callables: the contract of torch.cuda's, without the faults that are known there.

The numbers are those of issues at pytorch/pytorch. The last tests hold for ``graphed`` as well.
"""

from __future__ import annotations

import copy

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import ostinato as ost
from ostinato.accelerator import CaptureError, ReplayError, graphed, make_graphed_callables

from .support import assert_identical, refuses

F = torch.nn.functional


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))


def pair(*, samples=None, **options):
    """A graphed network and an eager one with the same weights."""
    eager = net()
    return make_graphed_callables(copy.deepcopy(eager), samples or (torch.randn(4, 6),), **options), eager


def grads(module):
    return [p.grad for p in module.parameters()]


# ---- arguments ----------------------------------------------------------------
class Mixing(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, x, pair, named, scale=None):
        out = x * self.weight + pair[0] * named["a"] - pair[1] * named["b"]
        return {"out": out, "more": (out * scale if scale is not None else out, x.sum())}


def _samples():
    x = torch.randn(3, requires_grad=True)
    named = {"a": torch.randn(3, requires_grad=True), "b": torch.randn(3)}
    return x, (torch.randn(3), torch.randn(3, requires_grad=True)), named


def test_tuples_and_dicts_as_arguments_and_results():
    torch.manual_seed(1)
    eager = Mixing()
    module = make_graphed_callables(Mixing(), _samples())
    for _ in range(3):
        args = _samples()
        got, want = module(*args), eager(*args)
        assert_identical(got, want)
        sources = [args[0], args[1][1], args[2]["a"]]
        assert_identical(
            torch.autograd.grad(got["out"].square().sum() + got["more"][1], [*sources, module.weight]),
            torch.autograd.grad(want["out"].square().sum() + want["more"][1], [*sources, eager.weight]),
        )


def test_arguments_by_name_take_their_places():
    module = make_graphed_callables(Mixing(), (*_samples(), torch.randn(3)))
    eager, (x, pair, named), scale = Mixing(), _samples(), torch.randn(3)
    want = eager(x, pair, named, scale)
    assert_identical(module(x, pair, scale=scale, named=named), want)
    assert_identical(module(named=named, scale=scale, pair=pair, x=x), want)
    with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
        module(x, pair, named, other=scale)
    error = refuses(lambda: module(x, pair, named=named), ost.UsageError, "graphed_grad")
    assert "structure" in error.message


def test_an_argument_that_has_a_name_only_is_refused():
    call = make_graphed_callables(lambda x, *, y=None: x * 2, (torch.ones(2),))
    refuses(lambda: call(torch.ones(2), y=torch.ones(2)), ost.UsageError, "graphed_grad")


@pytest.mark.parametrize("iters", [0, 1, 3])
def test_warm_up_calls_are_as_many_as_asked_for(iters):
    calls = []

    def function(x):
        calls.append(1)
        return x * 2

    make_graphed_callables(function, (torch.ones(2, requires_grad=True),), num_warmup_iters=iters)
    assert len(calls) == iters + 1


def test_an_input_without_a_gradient():
    samples = (torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True))
    with pytest.raises(RuntimeError, match="not have been used"):
        make_graphed_callables(lambda x, y: x * 2, samples)
    call = make_graphed_callables(lambda x, y: x * 2, samples, allow_unused_input=True)
    x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
    call(x, y).sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert y.grad is None


def test_a_tuple_of_callables_shares_one_pool_and_runs_in_order():
    pool = ost.accelerator.graph_pool_handle()
    first, second = net(), torch.nn.Linear(3, 2)
    eager = [copy.deepcopy(m) for m in (first, second)]
    samples = ((torch.randn(4, 6),), (torch.randn(4, 3, requires_grad=True),))
    made = make_graphed_callables((first, second), samples, pool=pool)
    assert made == (first, second)
    for _ in range(3):
        x = torch.randn(4, 6)
        got, want = second(first(x)), eager[1](eager[0](x))
        assert_identical(got, want)
        got.square().sum().backward()
        want.square().sum().backward()
        assert_identical(grads(first) + grads(second), grads(eager[0]) + grads(eager[1]))


# ---- modules ------------------------------------------------------------------
def test_parameters_that_need_no_gradient():
    module, eager = net(), net()
    for m in (module, eager):
        m[0].weight.requires_grad_(False)
    make_graphed_callables(module, (torch.randn(4, 6),))
    for _ in range(2):
        x = torch.randn(4, 6)
        module(x).square().sum().backward()
        eager(x).square().sum().backward()
    assert module[0].weight.grad is None
    assert_identical(grads(module), grads(eager))


def test_hooks_of_the_module_run_at_each_call_and_those_within_are_part_of_the_graph():
    calls = []

    def hooked(module, name):
        module.register_forward_pre_hook(lambda m, args: (calls.append(name + " pre"), (args[0] * 2,))[1])
        module.register_forward_hook(lambda m, args, out: (calls.append(name + " out"), out.tanh())[1])
        module.register_full_backward_hook(lambda m, gi, go: (calls.append(name + " back"), (gi[0] * 3,))[1])

    modules = [net() for _ in range(2)]
    for module in modules:
        hooked(module, "whole")
        hooked(module[2], "part")
    sample = torch.randn(4, 6, requires_grad=True)
    make_graphed_callables(modules[0], (sample,), num_warmup_iters=0)
    for _ in range(2):
        x = torch.randn(4, 6)
        inputs = [x.clone().requires_grad_() for _ in modules]
        seen = []
        for module, each in zip(modules, inputs, strict=True):
            calls.clear()
            module(each).square().sum().backward()
            seen.append(list(calls))
        assert seen[0] == [name for name in seen[1] if name.startswith("whole")]
        assert_identical(inputs[0].grad, inputs[1].grad)
        assert_identical(grads(modules[0]), grads(modules[1]))


def test_a_switch_of_training_runs_eagerly_and_back():
    module = torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(6))
    eager, calls = copy.deepcopy(module), []
    module.register_forward_pre_hook(lambda m, args: calls.append(1))
    module[0].register_forward_pre_hook(lambda m, args: calls.append(2))
    make_graphed_callables(module, (torch.randn(4, 6),), num_warmup_iters=0)
    calls.clear()
    for switch, inner in (
        (lambda m: m.eval(), True),
        (lambda m: m.train(), False),
        (lambda m: m[2].eval(), True),  # a part alone: frozen statistics
        (lambda m: m[2].train(), False),
    ):
        switch(module), switch(eager)
        x = torch.randn(4, 6)
        torch.manual_seed(1)
        got = module(x)
        torch.manual_seed(1)
        assert_identical(got, eager(x))
        assert_identical(list(module.buffers()), list(eager.buffers()))
        assert calls == ([1, 2] if inner else [1])
        calls.clear()


def test_other_sizes_run_where_the_module_is_eager_only():
    module, eager = pair()
    with pytest.raises(ost.UsageError, match=r"float32\[9, 6\]"):
        module(torch.randn(9, 6))
    module.eval()
    x = torch.randn(9, 6)
    assert_identical(module(x), eager(x))


def test_a_training_run_equals_eager_bit_for_bit():
    module, eager = pair()
    runs = [(m, torch.optim.AdamW(m.parameters(), lr=0.01)) for m in (module, eager)]
    for step in range(20):
        x, y = torch.randn(4, 6), torch.randn(4, 3)
        for m, optimizer in runs:
            optimizer.zero_grad(set_to_none=step % 2 == 0)
            F.mse_loss(m(x), y).backward()
            torch.nn.utils.clip_grad_norm_(m.parameters(), 0.5)
            optimizer.step()
        assert_identical(list(module.parameters()), list(eager.parameters()))


# ---- faults known elsewhere ---------------------------------------------------
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
