"""Recurrent layers in fast numerics, beside eager torch and float64."""

from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given, settings, strategies as st

from .support import captured

LSTM = "ostinato::lstm"


def flat(result):
    y, (h, c) = result
    return y, h, c


def check(module, *inputs):
    """One step a layer and direction; the error is at most four times that of eager."""
    graph, out = captured(lambda: module(*inputs))
    for tensor in inputs[:1] + (inputs[1] if len(inputs) > 1 else ()):
        tensor.copy_(torch.randn(tensor.shape))
    graph.replay()
    wide = [tuple(t.double() for t in i) if isinstance(i, tuple) else i.double() for i in inputs]
    with torch.no_grad():
        wants, eagers = copy.deepcopy(module).double()(*wide), module(*inputs)
    for got, want, eager in zip(flat(out), flat(wants), flat(eagers), strict=True):
        assert got.shape == eager.shape
        assert (got - want).abs().max() <= 4 * (eager - want).abs().max() + 1e-5
    return [node.op for node in graph.nodes]


@settings(max_examples=40, deadline=None)
@given(
    time=st.integers(1, 9),
    batch=st.integers(1, 5),
    inputs=st.integers(1, 40),
    hidden=st.integers(1, 70),
    bias=st.booleans(),
    states=st.booleans(),
)
def test_one_layer_is_one_step(time, batch, inputs, hidden, bias, states):
    module = torch.nn.LSTM(inputs, hidden, bias=bias).eval()
    x = torch.randn(time, batch, inputs)
    state = (torch.randn(1, batch, hidden), torch.randn(1, batch, hidden))
    operators = check(module, x, state) if states else check(module, x)
    assert operators == [LSTM]


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 6), (5, 1, 6), (4, 3, 6), (6, 6)])
def test_layers_and_directions(batch_first, shape):
    module = torch.nn.LSTM(6, 17, 3, bidirectional=True, batch_first=batch_first).eval()
    operators = check(module, torch.randn(shape))
    assert operators.count(LSTM) == 6
    assert not [op for op in operators if "mkldnn" in op or "stack" in op]


def test_a_sequence_longer_than_is_computed_ahead():
    check(torch.nn.LSTM(12, 20, bidirectional=True).eval(), torch.randn(250, 2, 12))
    check(torch.nn.LSTM(12, 20).eval(), torch.randn(3, 130, 12))
    check(torch.nn.LSTM(12, 20).eval(), torch.randn(40, 5, 24)[:, ::2, ::2].contiguous()[:, :2])


def test_a_state_of_the_caller_is_carried_from_replay_to_replay():
    module = torch.nn.LSTM(4, 8).eval()
    x, h, c = torch.randn(1, 1, 4), torch.zeros(1, 1, 8), torch.zeros(1, 1, 8)

    def function():
        y, (h_out, c_out) = module(x, (h, c))
        h.copy_(h_out)
        c.copy_(c_out)
        return y

    graph, out = captured(function)
    want_h, want_c = h.clone(), c.clone()
    for _ in range(3):
        x.normal_()
        graph.replay()
        with torch.no_grad():
            want, (want_h, want_c) = module(x, (want_h, want_c))
        torch.testing.assert_close((out, h, c), (want, want_h, want_c))


def test_changed_weights_and_biases_are_packed_again():
    module = torch.nn.LSTM(4, 8).eval()
    x = torch.randn(3, 2, 4)
    graph, out = captured(lambda: module(x))
    for parameter in module.parameters():
        with torch.no_grad():
            parameter.mul_(-1.5)
        graph.replay()
        with torch.no_grad():
            torch.testing.assert_close(flat(out), flat(module(x)))


def test_nan_and_infinities_go_where_eager_puts_them():
    module = torch.nn.LSTM(4, 20).eval()
    x, h, c = torch.randn(1, 5, 4), torch.randn(1, 5, 20), torch.randn(1, 5, 20)
    graph, out = captured(lambda: module(x, (h, c)))
    inf, nan = float("inf"), float("nan")
    x[0, 0, 0], x[0, 1, 0], h[0, 2, 3] = inf, nan, -inf
    c[0, 3, :4] = torch.tensor([inf, -inf, nan, 3e38])
    x[0, 4] = 1e30
    graph.replay()
    with torch.no_grad():
        torch.testing.assert_close(flat(out), flat(module(x, (h, c))), equal_nan=True)


def test_weights_that_are_no_parameters_are_not_packed():
    module = torch.nn.LSTM(4, 8).eval()
    weights = [p.detach().clone() for p in module.parameters()]
    x, state = torch.randn(2, 1, 4), (torch.zeros(1, 1, 8), torch.zeros(1, 1, 8))

    def function():
        return torch.ops.aten.lstm.input(x, state, weights, True, 1, 0.0, False, False, False)

    graph, out = captured(function)
    assert LSTM not in [node.op for node in graph.nodes]
    weights[0].numpy()[:] = 0.25
    graph.replay()
    torch.testing.assert_close(out[0], function()[0])
