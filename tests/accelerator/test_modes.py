"""Modes inside and around a capture and a replay: autocast, no_grad, func, hooks, compile, threads."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

import ostinato as ost
from ostinato.accelerator import Graph

from .support import assert_identical, assert_replays_like_eager, capture, tensors

F = torch.nn.functional


def network():
    torch.manual_seed(0)
    layers = torch.nn.Linear(8, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 4)
    return torch.nn.Sequential(*layers)


def autocast():
    return torch.autocast("cpu", dtype=torch.bfloat16)


AROUND = {
    "nothing": contextlib.nullcontext,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": autocast,
    "default device": lambda: torch.device("meta"),
    "flops": lambda: FlopCounterMode(display=False),
    "fake": FakeTensorMode,
}


# ---- gradients and precision --------------------------------------------------
@pytest.mark.parametrize("inside", ["nothing", "no_grad", "inference_mode", "autocast"])
@pytest.mark.parametrize("around_capture", ["nothing", "no_grad", "inference_mode", "autocast"])
def test_modes_of_the_capture_are_kept_and_those_of_the_replay_do_not_matter(inside, around_capture):
    model, x = network(), torch.randn(3, 8)
    with AROUND[around_capture]():
        graph = Graph()
        with graph, AROUND[inside]():
            y = model(x)
        with AROUND[inside]():
            want = model(x)
    assert y.requires_grad == want.requires_grad
    assert y.is_inference() == want.is_inference()
    for around_replay in AROUND.values():
        with torch.no_grad():
            x.normal_()
        with around_replay():
            graph.replay()
        with AROUND[around_capture](), AROUND[inside]():
            assert_identical(y.clone(), model(x).clone())


def test_python_steps_do_not_see_the_modes_around_a_replay():
    """A given generator makes a Python step on a torch older than 2.13 and of some operators on any."""
    generator, p = torch.Generator(), torch.full((6,), 0.5)
    graph, y = capture(lambda: (p.bernoulli(generator=generator), torch.randn(3), p.sort()))
    for around in AROUND.values():
        generator.manual_seed(4), torch.manual_seed(4)
        want = p.bernoulli(generator=generator), torch.randn(3), p.sort()
        generator.manual_seed(4), torch.manual_seed(4)
        with around():
            graph.replay()
        assert_identical(y, want)


def test_autocast_entered_and_left_inside():
    model, x = network(), torch.randn(3, 8)

    def program():
        with autocast():
            low = model(x)
            with torch.autocast("cpu", enabled=False):
                high = model(x)
        return low, high, low.float() + model(x)

    with torch.no_grad():
        _, out = assert_replays_like_eager(program, [x, *model.parameters()], torch.Tensor.normal_)
    assert [t.dtype for t in out] == [torch.bfloat16, torch.float32, torch.float32]


def test_a_mode_of_the_users_sees_the_capture_once_and_nothing_of_ours():
    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x, seen = torch.ones(3), []
    with Log():
        outer, y = capture(lambda: x.sin() + 1)
    assert seen == ["aten.sin.default", "aten.add.Tensor"]
    seen.clear()
    inner = Graph()
    with inner, Log():
        z = x.sin() + 1
    assert seen == ["aten.sin.default", "aten.add.Tensor"]
    x.fill_(2)
    with Log():
        outer.replay()
        inner.replay()
    assert len(seen) == 2
    assert_identical([y, z], [x.sin() + 1] * 2)


# ---- torch.func ---------------------------------------------------------------
def _loss(w, x):
    return (x * w).sin().sum()


TRANSFORMS = {
    "grad": lambda w, x: torch.func.grad(_loss)(w, x),
    "vmap": lambda w, x: torch.func.vmap(torch.func.grad(_loss), (None, 0))(w, x),
    "jvp": lambda w, x: torch.func.jvp(lambda v: (x * v).sin(), (w,), (w + 1,)),
    "vjp": lambda w, x: torch.func.vjp(lambda v: (x * v).sin(), w)[1](x),
    "jacrev": lambda w, x: torch.func.jacrev(lambda v: (x * v).exp())(w),
    "hessian": lambda w, x: torch.func.hessian(_loss)(w, x),
    "vmap_random": lambda w, x: torch.func.vmap(lambda r: r * torch.randn(3), randomness="different")(x),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_function_transforms(name):
    w, x = torch.randn(3), torch.randn(4, 3)
    graph, out = capture(lambda: TRANSFORMS[name](w, x))
    for seed in range(3):
        w.normal_(), x.normal_()
        torch.manual_seed(seed)
        want = TRANSFORMS[name](w, x)
        torch.manual_seed(seed)
        graph.replay()
        assert_identical(out, want)


# ---- hooks --------------------------------------------------------------------
def test_hooks_run_at_capture_and_what_they_compute_is_replayed():
    model, x = torch.nn.Linear(3, 3), torch.randn(2, 3, requires_grad=True)
    calls = []
    model.register_forward_pre_hook(lambda m, args: (calls.append("pre"), (args[0] * 2,))[1])
    model.register_forward_hook(lambda m, args, out: (calls.append("forward"), out.tanh())[1])
    model.register_full_backward_hook(lambda m, gi, go: (calls.append("backward"), (gi[0] * 3,))[1])
    x.register_hook(lambda g: (calls.append("tensor"), g + 1)[1])

    def step():
        return torch.autograd.grad(model(x).square().sum(), [x, model.weight])

    graph, grads = capture(step)
    assert calls == ["pre", "forward", "backward", "tensor"]
    with torch.no_grad():
        x.normal_()
    graph.replay()
    assert len(calls) == 4
    assert_identical(grads, step())


# ---- torch.compile ------------------------------------------------------------
@pytest.mark.parametrize("compiled_before", [False, True])
def test_a_compiled_function_is_captured_as_it_was_written(compiled_before):
    function = torch.compile(lambda a: (a.sin() + 1).cos() @ a, backend="aot_eager")
    x = torch.randn(3, 3)
    if compiled_before:
        function(x)
    graph, y = capture(lambda: function(x))
    assert len(graph.nodes) == 4
    x.normal_()
    graph.replay()
    assert_identical(y, (x.sin() + 1).cos() @ x)


IN_A_FRESH_PROCESS = """
import sys, torch, ostinato as ost
x, graph = torch.ones(3), ost.accelerator.Graph()
with graph:
    y = x + 1
assert "torch._dynamo" not in sys.modules, "a capture imports dynamo, which takes seconds"
other = ost.accelerator.Graph()
with other:
    y = torch.compile(lambda a: (a.sin() + 1).cos(), backend="eager")(x)
x.fill_(2.0)
other.replay()
assert torch.equal(y, (x.sin() + 1).cos())
assert len(other.nodes) == 3
"""


def test_dynamo_is_not_loaded_and_may_be_loaded_inside_the_capture():
    done = subprocess.run([sys.executable, "-c", IN_A_FRESH_PROCESS], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN, torch.nn.Linear])
@pytest.mark.parametrize("inside", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_the_grad_mode_of_a_replay_does_not_matter(kind, inside):
    """oneDNN's LSTM has other last bits where a backward may follow."""
    torch.manual_seed(0)
    layer, x = kind(4, 4), torch.randn(3, 1, 4)
    with inside():
        want = layer(x)
        graph, out = capture(lambda: layer(x))
    for around in (torch.no_grad, torch.enable_grad):
        with around():
            graph.replay()
        assert_identical(tensors(out), tensors(want))
        for tensor in tensors(out):
            tensor.detach().zero_()


# ---- threads ------------------------------------------------------------------
@pytest.mark.parametrize("first", [1, 2])
def test_a_replay_on_other_threads_than_the_capture_is_eager_on_those(first):
    before = torch.get_num_threads()
    torch.manual_seed(0)
    x, image, wide = torch.randn(5, 4), torch.randn(1, 3, 9, 9), torch.randn(300, 300)
    weights = [torch.nn.Parameter(torch.randn(s)) for s in ((33, 4), (33, 33), (8, 3, 3, 3))]

    def program():
        hidden = F.linear(F.linear(x, weights[0]), weights[1])
        return hidden, F.conv2d(image, weights[2], stride=2), wide.sum(), wide @ wide, wide.softmax(1)

    try:
        torch.set_num_threads(first)
        graph, out = capture(program)
        for threads in (3 - first, first):
            torch.set_num_threads(threads)
            graph.replay()
            assert_identical(out, program())
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 2])
def test_bit_equal_on_as_many_threads(threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        x, w = torch.randn(300, 300), torch.randn(300, 300)

        def program():
            return x @ w, x.sum(), x.mean(0), x.softmax(1), F.gelu(x), x.cumsum(0), x.var(1)

        assert_replays_like_eager(program, [x, w], torch.Tensor.normal_)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.narrow(-1, 0, 1),
        lambda x: x.chunk(2)[1],
        lambda x: x.split(1)[0],
        lambda x: x.movedim(0, 1),
    ],
)
def test_views_alone_in_inference_mode(view):
    x = torch.randn(3, 4)
    graph = ost.accelerator.Graph()
    with torch.inference_mode(), pytest.warns(UserWarning, match="recorded nothing"), graph:
        y = view(x)
    graph.replay()
    x.fill_(3)
    assert torch.equal(y, view(x))
    y.add_(1)
    assert torch.equal(view(x), y)
