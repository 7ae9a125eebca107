"""Packed products: float64 as the oracle in fast numerics, eager's bits in exact numerics."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings, strategies as st

import ostinato as ost

F = torch.nn.functional


def capture(function, weights, numerics):
    graph = ost.accelerator.Graph(numerics=numerics)
    graph._treat_as_weights(weights)
    with graph:
        out = function()
    return graph, out


@st.composite
def convolutions(draw):
    dims = draw(st.sampled_from([1, 2]))
    kernel = [draw(st.integers(1, 4)) for _ in range(dims)]
    dilation = [draw(st.integers(1, 2)) for _ in range(dims)]
    padding = [draw(st.integers(0, 2)) for _ in range(dims)]
    stride = [draw(st.integers(1, 3)) for _ in range(dims)]
    least = [max(1, d * (k - 1) + 1 - 2 * p) for k, d, p in zip(kernel, dilation, padding, strict=True)]
    size = [low + draw(st.integers(0, 6)) for low in least]
    channels, filters = draw(st.integers(1, 9)), draw(st.integers(1, 40))
    bias, transposed = draw(st.booleans()), draw(st.booleans())
    return channels, filters, kernel, size, stride, padding, dilation, bias, transposed


@settings(max_examples=60, deadline=None)
@given(convolutions(), st.sampled_from(["exact", "fast"]))
def test_convolutions(case, numerics):
    channels, filters, kernel, size, stride, padding, dilation, bias, transposed = case
    torch.manual_seed(0)
    x = torch.randn(1, channels, *size)
    if transposed:  # an input whose channels lie last in memory
        x = x.movedim(1, -1).contiguous().movedim(-1, 1)
    w = torch.randn(filters, channels, *kernel)
    b = torch.randn(filters) if bias else None
    convolve = F.conv1d if len(size) == 1 else F.conv2d
    graph, out = capture(lambda: convolve(x, w, b, stride, padding, dilation), (w,), numerics)
    x.normal_()
    graph.replay()
    if numerics == "exact":
        assert torch.equal(out, convolve(x, w, b, stride, padding, dilation))
    else:
        wide = convolve(x.double(), w.double(), None if b is None else b.double(), stride, padding, dilation)
        torch.testing.assert_close(out.double(), wide, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("k", [1, 2, 5, 64])
@pytest.mark.parametrize("n", [1, 3])
def test_zeros_keep_the_sign_that_torch_gives_them(n, k):
    x, w, b = torch.full((n, k), -0.0), torch.rand(7, k), torch.full((7,), -0.0)
    for bias in (None, b):
        graph, out = capture(lambda bias=bias: F.linear(x, w, bias), (w,), "exact")
        graph.replay()
        want = F.linear(x, w, bias)
        assert torch.equal(out, want)
        assert torch.equal(out.signbit(), want.signbit())


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 18),
    st.integers(1, 200),
    st.integers(1, 70),
    st.booleans(),
)
def test_linear_in_exact_numerics(n, k, m, bias):
    torch.manual_seed(0)
    x, w = torch.randn(n, k), torch.randn(m, k)
    b = torch.randn(m) if bias else None
    graph, out = capture(lambda: F.linear(x, w, b), (w,), "exact")
    x.normal_()
    graph.replay()
    assert torch.equal(out, F.linear(x, w, b))
