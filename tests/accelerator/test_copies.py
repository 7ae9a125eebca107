"""Fast numerics does without copies where nobody can tell, and keeps them where somebody can."""

from __future__ import annotations

import pytest
import torch

import ostinato as ost


def replayed(function, *inputs):
    """The operators of the fast graph of ``function``; its results are checked on other inputs."""
    graph = ost.accelerator.Graph(numerics="fast")
    with torch.no_grad(), graph:
        outs = function(*inputs)
    for x in inputs:
        x.copy_(torch.randn_like(x))
    copies = [x.clone() for x in inputs]
    graph.replay()
    wants = function(*copies)
    for out, want in zip(outs, wants, strict=True):
        torch.testing.assert_close(out, want)
    for x, copy in zip(inputs, copies, strict=True):
        assert torch.equal(x, copy)
    return [name for node in graph.nodes for name in node.sources or (node.op,)]


def copies(operators):
    return [op for op in operators if any(n in op for n in ("clone", "cat", "stack", "_to_copy"))]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x.cumsum(0).clone().sort()[0],),
        lambda x: (x.clone().sort()[0],),
        lambda x: (torch.stack([x.cumsum(0)]),),
        lambda x: (torch.cat([x.cumsum(0), x.cumsum(1)]),),
        lambda x: (torch.cat([torch.cat([x.cumsum(0), x.cumsum(1)]), x.flip(0)]).cumsum(0),),
        lambda x: (torch.stack([x.cumsum(0), x.flip(0), x.sort()[0]])[1:].cumsum(1),),
        lambda x: (x.cumsum(0).t().clone(), x.cumsum(0).t().contiguous().t()[1:].sort()[0]),
    ],
)
def test_these_copies_go(function):
    operators = replayed(function, torch.randn(4, 6))
    held_twice = [op for op in copies(operators) if "clone" in op]
    assert len(held_twice) <= 1
    assert not [op for op in copies(operators) if "clone" not in op]


def changed_later(x):
    y = x.cumsum(0)
    z = y.clone()
    y.mul_(2)
    return y, z


def changed_copy(x):
    y = x.cumsum(0)
    z = y.clone()
    z.add_(1)
    return y.flip(0), z


def copy_of_an_input_changed_between(x):
    y = x.cumsum(0)
    z = y.clone()
    y.copy_(x)
    return z.flip(0), y.flip(0)


def same_part_twice(x):
    y = x.cumsum(0)
    return (torch.cat([y, y]),)


def part_of_another_dtype(x):
    y = x.cumsum(0)
    z = torch.cat([y, y.view(torch.int32).float()])
    return (z,)


def two_copies_held(x):
    y = x.cumsum(0)
    return y.clone(), y.clone(), y


def strided(x):
    return torch.cat([x.cumsum(0), x.flip(0)], 1), x.cumsum(1)[:, ::2].clone()


@pytest.mark.parametrize(
    "function",
    [
        changed_later,
        changed_copy,
        copy_of_an_input_changed_between,
        same_part_twice,
        part_of_another_dtype,
        two_copies_held,
        strided,
    ],
)
def test_these_stay(function):
    assert copies(replayed(function, torch.randn(4, 6)))


def test_a_copy_that_the_caller_holds_is_not_the_input():
    x = torch.randn(5)
    graph = ost.accelerator.Graph(numerics="fast")
    with torch.no_grad(), graph:
        y = x.clone()
    graph.replay()
    y.zero_()
    assert x.abs().sum() > 0
    graph.replay()
    assert torch.equal(x, y)
