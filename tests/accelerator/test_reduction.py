"""Sums and means in fast numerics: any dimensions, any layout, as exact as eager."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings, strategies as st

from .support import captured

REDUCTION = "ostinato::reduction"


@st.composite
def tensors(draw):
    """A tensor of up to five dimensions, in memory in any order and with gaps; the dimensions to reduce."""
    dims = draw(st.integers(0, 5))
    sizes = [draw(st.sampled_from([1, 2, 3, 5, 17, 40])) for _ in range(dims)]
    while math.prod(sizes) > 40000:
        sizes[sizes.index(max(sizes))] = 2
    order, step = draw(st.permutations(range(dims))), draw(st.sampled_from([1, 1, 1, 2]))
    x = torch.randn([sizes[d] for d in order] + [step])[..., 0]
    x = x.permute([order.index(d) for d in range(dims)])
    return x, draw(st.lists(st.integers(-dims, dims - 1), unique_by=lambda d: d % dims)) if dims else []


@settings(max_examples=150, deadline=None)
@given(tensors(), st.booleans(), st.sampled_from([torch.mean, torch.sum]))
def test_any_dimensions_of_any_layout(case, keepdim, operator):
    x, dims = case
    graph, out = captured(lambda: operator(x, dims, keepdim))
    x.copy_(torch.randn(x.shape))
    graph.replay()
    want = operator(x, dims, keepdim)
    assert out.stride() == want.stride()
    error, eager = ((t - operator(x.double(), dims, keepdim)).abs().max() for t in (out, want))
    usual = (x.numel() / out.numel()) ** 0.5 if operator is torch.sum else 1.0  # the size of such a result
    assert error <= 4 * eager + 1e-5 * usual


@pytest.mark.parametrize("shape", [(1, 32, 4, 4), (2, 32, 7, 7), (3, 64, 112, 112), (70, 5000), (5000, 70)])
def test_the_kernel_takes_the_usual_ones(shape):
    for x in (torch.randn(shape), torch.randn(shape[0], *shape[2:], shape[1]).movedim(-1, 1)):
        dims = tuple(range(2, len(shape))) or (1,)
        graph, out = captured(lambda x=x, dims=dims: x.mean(dims))
        assert [node.op for node in graph.nodes] == [REDUCTION]
        x.normal_()
        graph.replay()
        torch.testing.assert_close(out.double(), x.double().mean(dims), rtol=1e-6, atol=1e-6)


def test_long_sums_stay_exact():
    for x in (torch.full((3, 100_000), 0.1), torch.full((100_000, 20), 0.1)):
        for dim in (0, 1):
            graph, out = captured(lambda x=x, dim=dim: x.sum(dim))
            graph.replay()
            torch.testing.assert_close(out.double(), x.double().sum(dim), rtol=2e-6, atol=0)


def test_special_numbers_and_other_dtypes():
    x = torch.zeros(4, 20)
    for function in (
        lambda: x.mean(1),
        lambda: x.sum(0),
        lambda: x.mean(),
        lambda: x.sum(1, dtype=torch.float64),
        lambda: x.double().sum(0),
        lambda: x.int().sum(0),
        lambda: x[:0].mean(0),
    ):
        graph, out = captured(function)
        for row, values in enumerate([(math.nan,), (math.inf, -math.inf), (math.inf,), (-0.0, 1e-41)]):
            x[row, : len(values)] = torch.tensor(values)
        graph.replay()
        torch.testing.assert_close(out, function(), equal_nan=True)
