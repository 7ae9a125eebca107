"""make_graphed_callables: the contract of torch.cuda's."""

from __future__ import annotations

import copy

import pytest
import torch

import ostinato as ost
from ostinato.accelerator import make_graphed_callables

from .graphed_nets import grads, net, pair
from .support import assert_identical, refuses

F = torch.nn.functional


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
