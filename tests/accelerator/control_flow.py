"""What the tests of control flow share: the same words in plain Python, as the oracle."""

from __future__ import annotations

import types

import torch

from .support import assert_identical, capture, tensors


def _if(pred, true_fn, false_fn, operands=()):
    return true_fn(*operands) if pred else false_fn(*operands)


def _while(cond_fn, body_fn, carried):
    while cond_fn(*carried):
        carried = body_fn(*carried)
    return carried


PYTHON = types.SimpleNamespace(cond=_if, while_loop=_while)


def check(function, inputs, settings, numerics="exact", assert_same=assert_identical):
    """Captures ``function(torch)`` once; for each setting of the inputs compares a replay with plain Python.

    ``settings`` are called in turn: each changes the inputs in place. Inputs that the function writes are
    compared too, and the state of the generator.
    """
    before = [t.clone() for t in inputs]
    graph, out = capture(lambda: function(torch), numerics=numerics)
    assert_identical([t.clone() for t in inputs], before)  # the capture changed nothing
    for feed in settings:
        feed()
        start = [t.clone() for t in inputs]
        state = torch.get_rng_state()
        graph.replay()
        got = [t.clone() for t in tensors(out)], [t.clone() for t in inputs]
        drawn = torch.get_rng_state()
        with torch.no_grad():
            for tensor, value in zip(inputs, start, strict=True):
                tensor.copy_(value)
        torch.set_rng_state(state)
        want = function(PYTHON)
        assert_same(got, ([t.clone() for t in tensors(want)], [t.clone() for t in inputs]))
        assert torch.equal(drawn, torch.get_rng_state())
    return graph, out


def flip(pred, *values):
    """Settings that give ``pred`` these values."""
    return [lambda v=value: pred.copy_(torch.as_tensor(v)) for value in values]
