"""Max pooling by our own kernel: values and indices are torch's own, bit for bit."""

from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given, settings, strategies as st

import ostinato as ost

F = torch.nn.functional


def pooled(x, **options):
    graph = ost.accelerator.Graph()
    with torch.no_grad(), graph:
        out, indices = F.max_pool2d(x, return_indices=True, **options)
    graph.replay()
    return graph, out, indices


def check(x, **options):
    graph, out, indices = pooled(x, **options)
    want, places = F.max_pool2d(x, return_indices=True, **options)
    torch.testing.assert_close(out, want, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(indices, places)
    return graph.stats()["steps"]["kernel"]


@settings(max_examples=80, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(1, 19), st.integers(1, 19)),
    kernel=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    padding=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    dilation=st.integers(1, 2),
    ceil_mode=st.booleans(),
    specials=st.booleans(),
)
def test_any_window(shape, kernel, stride, padding, dilation, ceil_mode, specials):
    assume(all(2 * p <= k for p, k in zip(padding, kernel, strict=True)))
    assume(all((k - 1) * dilation < n + 2 * p for n, k, p in zip(shape[2:], kernel, padding, strict=True)))
    x = torch.randint(-3, 4, shape).float()  # with ties
    if specials:
        x.flatten()[::5] = float("nan")
        x.flatten()[1::7] = float("-inf")
    options = {"kernel_size": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    try:
        F.max_pool2d(x, ceil_mode=ceil_mode, **options)
    except RuntimeError:
        return
    assert check(x, ceil_mode=ceil_mode, **options) == 1


@pytest.mark.parametrize("shape", [(64, 16, 28, 28), (5, 12, 12), (0, 3, 4, 4)])
def test_sizes(shape):
    assert check(torch.randn(shape), kernel_size=2) == 1


def test_other_layouts_and_dtypes_are_left_to_torch():
    x = torch.randn(2, 8, 6, 6)
    assert check(x.to(memory_format=torch.channels_last), kernel_size=2) == 0
    assert check(x.double(), kernel_size=2) == 0
    assert check(x.transpose(2, 3), kernel_size=2) == 0


def test_a_convolution_that_trains():
    def step(model, x):
        loss = model(x).square().mean()
        return torch.autograd.grad(loss, list(model.parameters()))

    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten()
    )
    x = torch.randn(3, 1, 10, 10)
    graph = ost.accelerator.Graph()
    with graph:
        gradients = step(model, x)
    x.copy_(torch.randn_like(x))
    graph.replay()
    assert all(map(torch.equal, gradients, step(model, x)))
