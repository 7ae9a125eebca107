"""A capture that fails leaves everything as it was, and the graph can capture again."""

from __future__ import annotations

import contextlib

import pytest
import torch

from ostinato.accelerator import CaptureError, Graph

from .support import assert_identical, capture, refuses
from .world import World, assert_as_before, modes


def _raises(world):
    raise LookupError("the user's own")


def _interrupted(world):
    raise KeyboardInterrupt


def _refused(world):
    world.x.sum().item()


def _deep_in_backward(world):
    y = world.x * next(world.model.parameters()).sum()
    y.register_hook(lambda g: g.sum().item())
    y.sum().backward()


@pytest.mark.parametrize("end", [_raises, _interrupted, _refused, _deep_in_backward])
def test_a_failed_capture_changes_nothing_and_can_be_repeated(end):
    world = World()
    before, outside = world.picture(), modes()
    graph = Graph()
    with contextlib.suppress(LookupError, KeyboardInterrupt, CaptureError):
        with graph:
            world.step()
            end(world)
        raise AssertionError("nothing was raised")
    assert modes() == outside
    assert_as_before(world, before)
    with graph:
        world.step()
    graph.replay()
    twin = World()
    twin.step()
    assert_identical([t.detach() for t in world.tensors()], [t.detach() for t in twin.tensors()])


def test_a_failed_capture_unbinds_gradients_and_gives_replaced_ones_back():
    first, second = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    second.grad = kept = torch.full((2,), 7.0)

    def step():
        second.grad = None
        (first * second).sum().backward()
        raise LookupError

    with pytest.raises(LookupError):
        capture(step)
    assert first.grad is None
    assert second.grad is kept
    assert kept.tolist() == [7, 7]


def test_a_failed_capture_drops_optimizer_state_made_half_way():
    """Adam makes its state, and then reads a step count back to Python, which is refused."""
    p = torch.nn.Parameter(torch.ones(2))
    p.grad = torch.ones(2)
    optimizer = torch.optim.Adam([p])
    with pytest.raises(CaptureError), Graph():
        optimizer.step()
    assert not optimizer.state
    optimizer.step()
    assert float(optimizer.state[p]["step"]) == 1


def test_a_refused_out_gives_the_tensor_its_size_back():
    out = torch.arange(2.0)
    with pytest.warns(UserWarning, match="resized"):
        refuses(lambda: capture(lambda: torch.add(torch.ones(100), 1, out=out)), CaptureError, "resizes")
    assert out.tolist() == [0, 1]
    assert out.untyped_storage().nbytes() == 8
    assert out._version == 0
