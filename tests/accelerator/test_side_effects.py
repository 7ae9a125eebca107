"""A capture changes nothing: memory, version counters, generators, modes."""

from __future__ import annotations

import pytest
import torch

from .support import assert_identical, capture
from .world import World, assert_as_before, modes


def test_a_training_step_changes_nothing_until_it_is_replayed():
    world = World()
    before, outside = world.picture(), modes()
    graph, _ = capture(world.step)
    assert_as_before(world, before)
    assert modes() == outside
    changed = world.picture()
    graph.replay()
    now = world.picture()
    for old, new in zip(changed["content"], now["content"], strict=True):
        assert not torch.equal(old, new)  # so the test above could have failed
    assert not torch.equal(now["generator"], changed["generator"])
    assert not torch.equal(now["default generator"], changed["default generator"])


# ---- version counters ---------------------------------------------------------
def _in_place(x):
    x.add_(1)


def _through_a_view(x):
    x[1:].mul_(2)


def _through_a_view_of_a_view(x):
    x.view(2, 2)[0].view(-1).zero_()


def _through_detach(x):
    x.detach().sub_(1)


def _through_data(x):
    x.data.fill_(3)


def _as_out(x):
    torch.mul(x.detach(), 2, out=x.detach())


def _foreach(x):
    torch._foreach_add_([x, x[:2]], 1.0)


def _twice(x):
    x.add_(1)
    x[0] = 7
    x.detach().exp_()


WRITES = [
    _in_place,
    _through_a_view,
    _through_a_view_of_a_view,
    _through_detach,
    _through_data,
    _as_out,
    _foreach,
    _twice,
]


@pytest.mark.parametrize("write", WRITES, ids=lambda f: f.__name__.strip("_"))
def test_version_counters_stay(write):
    """Eager moves the counter as often as the write says; a capture not at all; a replay moves it."""
    x = torch.arange(4.0)
    x.mul_(2)
    alias, view = x.detach(), x[1:]
    kept = x.clone()
    before = x._version, alias._version, view._version
    graph, _ = capture(lambda: write(x))
    assert (x._version, alias._version, view._version) == before
    assert torch.equal(x, kept)
    graph.replay()
    got = x.clone()
    if write is not _through_data:  # whose point is that no counter sees it
        assert x._version > before[0]
    x.copy_(kept)
    write(x)
    assert torch.equal(got, x)


def test_inference_tensors_are_put_back():
    with torch.inference_mode():
        x = torch.ones(3)
    with torch.inference_mode():
        graph, _ = capture(lambda: x.add_(1))
    assert x.tolist() == [1, 1, 1]
    graph.replay()
    assert x.tolist() == [2, 2, 2]


def test_a_tensor_written_in_inference_mode_keeps_its_counter():
    x = torch.ones(3)
    with torch.inference_mode():
        capture(lambda: x.add_(1))
    assert x._version == 0
    assert x.tolist() == [1, 1, 1]


def test_overlapping_tensors_are_put_back():
    x = torch.arange(6.0)
    wide = x.as_strided((4, 3), (1, 1))
    capture(lambda: (x.add_(1), wide[0].mul_(2), x[::2].zero_()))
    assert torch.equal(x, torch.arange(6.0))


# ---- autograd of the user's ---------------------------------------------------
def test_a_live_autograd_graph_stays_valid():
    """The capture writes to a tensor that an earlier forward has saved; its backward must still run."""
    w = torch.nn.Parameter(torch.tensor([2.0, 3.0]))
    x = torch.tensor([5.0, 7.0])
    loss = (w * x).square().sum()
    with torch.no_grad():
        graph, _ = capture(lambda: (x.mul_(10), w.zero_()))
    loss.backward()
    assert w.grad.tolist() == [2 * 2 * 25, 2 * 3 * 49]
    loss = (w * x).sum()
    graph.replay()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()  # while a replay really has changed what this forward saved


def test_backward_in_the_capture_leaves_earlier_gradients():
    p = torch.nn.Parameter(torch.ones(3))
    (p * 2).sum().backward()
    grad, version = p.grad, p.grad._version
    graph, _ = capture(lambda: (p * 5).sum().backward())
    assert p.grad is grad
    assert grad._version == version
    assert grad.tolist() == [2, 2, 2]
    graph.replay()
    graph.replay()
    assert grad.tolist() == [12, 12, 12]


# ---- modes --------------------------------------------------------------------
def test_autocast_cache_does_not_leak():
    """A cast of a weight that eager has cached is made again in the capture, and the other way round."""
    w = torch.nn.Parameter(torch.randn(4, 4))
    x = torch.randn(2, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.nn.functional.linear(x, w)  # caches the cast
        graph, y = capture(lambda: torch.nn.functional.linear(x, w))
        with torch.no_grad():
            w.mul_(2)
        torch.clear_autocast_cache()
        graph.replay()
        assert_identical(y.detach(), torch.nn.functional.linear(x, w).detach())
