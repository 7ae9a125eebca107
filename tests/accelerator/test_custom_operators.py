"""Operators of the user's own: recorded like any other, with a fake kernel or without one."""

from __future__ import annotations

import pytest
import torch

from ostinato.accelerator import ReplayError

from .support import assert_identical, capture, refuses


@pytest.fixture(scope="module", autouse=True)
def library():
    """Operators that no fake kernel describes."""
    with torch.library._scoped_library("ostinato_tests", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
        library.define("by_numpy(Tensor x) -> Tensor")
        library.impl("by_numpy", lambda x: torch.from_numpy(x.numpy() * 2), "CPU")
        library.define("add_to_(Tensor(a!) x, Tensor y) -> ()")
        library.impl("add_to_", _add_to, "CPU")
        yield


def _add_to(x, y):
    x.add_(y)


@torch.library.custom_op("ostinato_tests::halved", mutates_args=())
def halved(x: torch.Tensor) -> torch.Tensor:
    if x[0] < 0:
        raise ValueError("a negative first element")
    return torch.from_numpy(x.numpy() / 2)


PLAIN = {
    "composite": lambda x: torch.ops.ostinato_tests.twice(x) + 1,
    "NumPy": lambda x: torch.ops.ostinato_tests.by_numpy(x) + 1,
    "custom_op": lambda x: halved(x) + 1,
}


@pytest.mark.parametrize("numerics", ["exact", "fast"])
@pytest.mark.parametrize("name", PLAIN)
def test_it_is_recorded_and_runs_at_each_replay(name, numerics):
    x = torch.arange(6.0)
    graph, y = capture(lambda: PLAIN[name](x), numerics=numerics)
    for value in (2.0, 5.0):
        x.fill_(value)
        graph.replay()
        assert_identical(y, PLAIN[name](x))


def test_one_that_writes_to_its_argument():
    x, y = torch.arange(3.0), torch.ones(3)
    graph, _ = capture(lambda: torch.ops.ostinato_tests.add_to_(x, y))
    assert x.tolist() == [0, 1, 2]
    version = x._version
    graph.replay()
    graph.replay()
    assert x.tolist() == [2, 3, 4]
    assert x._version > version


@pytest.mark.parametrize("name", PLAIN)
def test_in_the_branch_that_is_not_taken(name):
    pred, x = torch.tensor(False), torch.arange(3.0)
    graph, y = capture(lambda: torch.cond(pred, PLAIN[name], torch.neg, (x,)))
    assert_identical(y, -x)
    for value in (True, False):
        pred.fill_(value)
        graph.replay()
        assert_identical(y, PLAIN[name](x) if value else -x)


def test_its_own_error():
    """At capture it goes on as it is, also where only a fake kernel could say what the branch would make."""
    x = torch.full((3,), -1.0)
    with pytest.raises(ValueError, match="a negative first element"):
        capture(lambda: halved(x))
    with pytest.raises(ValueError, match="a negative first element"):
        capture(lambda: torch.cond(x[0] > 0, halved, torch.neg, (x,)))
    x.fill_(4)
    graph, y = capture(lambda: halved(x))
    x.fill_(-1)
    error = refuses(graph.replay, ReplayError, "step_failed")
    assert "ostinato_tests.halved.default" in error.message
    assert "a negative first element" in error.message
    x.fill_(6)
    graph.replay()
    assert y.tolist() == [3, 3, 3]
