"""Gradients through conditions in a graph; the same steps with Python's ``if`` are the oracle."""

from __future__ import annotations

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from ostinato.accelerator import CaptureError, graphed

from .control_flow import PYTHON
from .support import assert_identical, capture, refuses


@pytest.fixture
def pred():
    return torch.tensor(True)


def against_python(function, pred, *values, same=assert_identical):
    """Gradients that ``function(torch)`` returns from a graph, for each value of ``pred``."""
    _graph, out = capture(lambda: function(torch))
    for value in values:
        pred.fill_(value)
        state = torch.get_rng_state()
        _graph.replay()
        drawn = torch.get_rng_state()
        torch.set_rng_state(state)
        pred.fill_(value)
        same([t.detach().clone() for t in out], [t.detach().clone() for t in function(PYTHON)])
        assert torch.equal(drawn, torch.get_rng_state())


def _network():
    torch.manual_seed(1)
    first, second = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
    parameters = [*first.parameters(), *second.parameters()]
    return first, second, torch.optim.SGD(parameters, lr=0.1), parameters


def _step(network, x, pred, t):
    """A condition in the network, and one that leaves the update out where a gradient is not finite."""
    first, second, optimizer, parameters = network
    optimizer.zero_grad(set_to_none=False)
    hidden = torch.relu(first(x))
    hidden = t.cond(
        pred,
        lambda h: torch.nn.functional.dropout(second(h), 0.3) * 2,
        lambda h: second(h).tanh() + h,
        (hidden,),
    )
    loss = (hidden**2).mean()
    loss.backward()
    finite = torch.stack([p.grad.isfinite().all() for p in parameters]).all()

    def update():
        with torch.no_grad():
            optimizer.step()

    t.cond(finite, update, lambda: None)
    return loss


def test_training_steps_equal_those_with_an_if(pred):
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        ours, theirs = _network(), _network()
        x = torch.randn(4, 8)
        for network in (ours, theirs):  # a warm-up step makes the gradients
            torch.manual_seed(5)
            _step(network, x, pred, PYTHON)
        graph, _ = capture(lambda: _step(ours, x, pred, torch))
        for number in range(30):
            x.normal_()
            if number == 10:
                x[0, 0] = float("inf")
            pred.fill_(number % 3 != 0)
            before = [p.detach().clone() for p in ours[3]]
            state = torch.get_rng_state()
            graph.replay()
            drawn = torch.get_rng_state()
            torch.set_rng_state(state)
            _step(theirs, x, pred, PYTHON)
            assert torch.equal(drawn, torch.get_rng_state())
            assert_identical([p.detach() for p in ours[3]], [p.detach() for p in theirs[3]])
            if number == 10:
                assert_identical([p.detach() for p in ours[3]], before)
    finally:
        torch.set_num_threads(threads)


def test_gradients_of_gradients(pred):
    w = torch.randn(5, requires_grad=True)

    def f(t):
        y = t.cond(pred, lambda: (w**3).sum() * w.exp().sum(), lambda: w.sin().sum() ** 2)
        (first,) = torch.autograd.grad(y, w, create_graph=True)
        return y, first, torch.autograd.grad((first**2).sum(), w)[0]

    against_python(f, pred, True, False, True, same=torch.testing.assert_close)


def test_one_side_alone_has_a_gradient(pred):
    a, b = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)

    def f(t):
        y = t.cond(pred, lambda: a * 2, lambda: b.exp())
        return torch.autograd.grad(y.sum(), [a, b], allow_unused=True, materialize_grads=True)

    against_python(f, pred, True, False, True)


def test_nested_conditions(pred):
    inner = torch.tensor(False)
    w, x = torch.randn(4, 4, requires_grad=True), torch.randn(2, 4, requires_grad=True)

    def f(t):
        def outer(x):
            y = x @ w
            return t.cond(inner, lambda y: y.sin() * w.sum(), lambda y: y.cos() + x, (y,))

        y = t.cond(pred, outer, lambda x: x @ w.t(), (x * 2,))
        return torch.autograd.grad(y.sum(), [w, x])

    for value in (True, False):
        inner.fill_(value)
        against_python(f, pred, True, False, same=torch.testing.assert_close)


def test_sources_that_were_computed_from_one_another(pred):
    w = torch.randn(4, requires_grad=True)

    def f(t):
        h = w.sin()
        k = h.exp()
        y = t.cond(pred, lambda: h * k + w, lambda: (k + w) * h.cos())
        return torch.autograd.grad(y.sum() + k.sum(), w)

    against_python(f, pred, True, False, same=torch.testing.assert_close)


class _Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def test_sources_with_a_function_of_the_users_between(pred):
    w = torch.randn(4, requires_grad=True)

    def f(t):
        h = _Double.apply(w)
        return torch.autograd.grad(t.cond(pred, lambda: h * 3, lambda: h.exp()).sum(), w)

    against_python(f, pred, True, False)

    def g():
        h = _Double.apply(w)
        return torch.cond(pred, lambda: h * w, lambda: h.exp())

    refuses(lambda: capture(g), CaptureError, "branch_custom")


def test_the_predicate_may_change_before_the_backward(pred):
    w = torch.randn(3, requires_grad=True)

    def f(t):
        y = t.cond(pred, lambda: w * 2, lambda: w * 3)
        pred.logical_not_()
        return torch.autograd.grad(y.sum(), w)

    against_python(f, pred, True, False)


def test_hooks_of_a_tensor_run_once(pred):
    w = torch.randn(3, requires_grad=True)
    w.register_hook(lambda grad: grad * 2)
    h = []

    def f(t):
        inner = w * 3
        inner.register_hook(lambda grad: grad + 1)
        h.append(inner)
        return torch.autograd.grad(t.cond(pred, lambda: inner**2, lambda: inner.exp()).sum(), w)

    against_python(f, pred, True, False)


def test_checkpointing_with_dropout(pred):
    linear = torch.nn.Linear(6, 6)
    x = torch.randn(3, 6, requires_grad=True)

    def f(t):
        def dropped(z):
            return torch.nn.functional.dropout(linear(z), 0.5).relu()

        y = t.cond(pred, lambda z: checkpoint(dropped, z, use_reentrant=False), linear, (x,))
        return torch.autograd.grad(y.sum(), [x, *linear.parameters()])

    against_python(f, pred, True, False, True, same=torch.testing.assert_close)


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_graphed(numerics):
    net = torch.nn.Linear(4, 4)

    def f(cond, x):
        return cond(x.sum() > 0, lambda x: net(x).tanh(), lambda x: net(x) * 3, (x,))

    call = graphed(lambda x: f(torch.cond, x), numerics=numerics)
    for value in (1.0, -1.0, 1.0):
        got, want = [], []
        for function, into in ((call, got), (lambda x: f(PYTHON.cond, x), want)):
            x = torch.full((2, 4), value, requires_grad=True)
            y = function(x)
            into += [y, *torch.autograd.grad(y.sum(), [x, *net.parameters()])]
        torch.testing.assert_close(got, want)


def test_the_backward_may_run_outside(pred):
    w = torch.randn(3, requires_grad=True)
    graph, y = capture(lambda: torch.cond(pred, lambda: w.sin(), lambda: w.exp()))
    for value in (True, False):
        pred.fill_(value)
        graph.replay()
        (grad,) = torch.autograd.grad(y.sum(), w, retain_graph=True)
        assert torch.equal(grad, w.cos() if value else w.exp())


def test_an_in_place_change_that_autograd_follows(pred):
    w = torch.randn(3, requires_grad=True)

    def f():
        h = w * 2
        return torch.cond(pred, lambda: h.add_(w).sum(), lambda: h.sum())

    refuses(lambda: capture(f), CaptureError, "branch_writes")


def test_a_retained_gradient(pred):
    w = torch.randn(3, requires_grad=True)

    def f():
        h = w * 2
        h.retain_grad()
        return torch.cond(pred, lambda: h.sum(), lambda: h.prod())

    refuses(lambda: capture(f), CaptureError, "branch_source")


def test_loops_have_no_gradient():
    w = torch.randn(3, requires_grad=True)
    n = torch.tensor(0)
    f = lambda: torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * w), (n, w * 1))  # noqa: E731
    refuses(lambda: capture(f), CaptureError, "loop_grad")
