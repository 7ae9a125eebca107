"""Run by test_native.py with OSTINATO_ISA set: convolutions against float64."""

from __future__ import annotations

import math
from unittest import mock

import torch
from hypothesis import given, settings, strategies as st

import ostinato as ost
from ostinato import _native
from ostinato.accelerator._passes import _convolution

F = torch.nn.functional
LONG = [(1, 5, 2000, 1024, 256), (130, 70, 9, 9, 1), (600, 33, 20, 3, 7)]


@st.composite
def shapes(draw):
    """Batch, groups, channels of a group in and out; of each axis size, kernel, stride, padding, dilation."""
    axes = []
    for _ in range(draw(st.sampled_from([1, 2, 2]))):
        kernel = draw(st.sampled_from([1, 1, 2, 3, 3, 5]))
        stride, dilation = draw(st.integers(1, 3)), draw(st.integers(1, 2))
        padding = draw(st.integers(0, 3))
        least = max(1, dilation * (kernel - 1) + 1 - 2 * padding)
        axes.append((least + draw(st.integers(0, 40)), kernel, stride, padding, dilation))
    groups = draw(st.sampled_from([1, 1, 1, 2, 7, 40]))
    limit = 4 if groups > 2 else 70
    return draw(st.integers(1, 3)), groups, draw(st.integers(1, limit)), draw(st.integers(1, limit)), axes


def laid_out(shape, layout):
    """Random numbers of this shape, the strides as the layout says."""
    if layout == "channels last":
        return torch.randn(shape[0], *shape[2:], shape[1]).movedim(-1, 1)
    if layout == "every other":
        return torch.randn(*shape[:-1], 2 * shape[-1])[..., ::2]
    if layout == "transposed":
        return torch.randn(*shape[:-2], shape[-1], shape[-2]).transpose(-1, -2)
    return torch.randn(shape)


def check(x, w, b, stride, padding, dilation, groups, after=lambda y: y):
    """One step; its error is at most four times that of eager."""
    convolve = F.conv1d if x.dim() == 3 else F.conv2d

    def function(x, w, b):
        return after(convolve(x, w, b, stride, padding, dilation, groups))

    graph = ost.accelerator.Graph(numerics="fast")
    graph._treat_as_weights((w,))
    with torch.no_grad(), graph:
        out = function(x, w, b)
    assert [node.op for node in graph.nodes] == ["ostinato::convolution"]
    x.copy_(torch.randn(x.shape))
    out.fill_(math.nan)  # what is not written shows
    graph.replay()
    with torch.no_grad():
        eager, wide = function(x, w, b), function(x.double(), w.double(), None if b is None else b.double())
    assert out.stride() == eager.stride()
    assert (out - wide).abs().max() <= 4 * (eager - wide).abs().max() + 1e-5


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    shapes(),
    st.sampled_from(["plain", "plain", "channels last", "channels last", "every other", "transposed"]),
    st.booleans(),
    st.sampled_from([None, F.relu, F.relu6, lambda y: F.leaky_relu(y, 0.2)]),
)
def any_shape(shape, layout, bias, activation):
    batch, groups, inputs, outputs, axes = shape
    sizes, kernel, stride, padding, dilation = zip(*axes, strict=True)
    x = laid_out((batch, groups * inputs, *sizes), layout)
    w = torch.randn(groups * outputs, inputs, *kernel)
    if layout == "channels last":
        w = w.movedim(1, -1).contiguous().movedim(-1, 1)
    b = torch.randn(groups * outputs) if bias else None
    check(x, w, b, stride, padding, dilation, groups, activation or (lambda y: y))


def long_sums():
    """More taps than are summed in one go, a window as long as the input, many phases."""
    for inputs, outputs, size, kernel, stride in LONG:
        x, w = torch.randn(2, inputs, size), torch.randn(outputs, inputs, kernel)
        check(x, w, torch.randn(outputs), stride, 0, 1, 1)


def on_threads():
    """Images, groups, positions and channels dealt out, and what does not come out even."""
    for batch, groups, inputs, outputs, size in [
        (3, 1, 40, 33, 30),
        (8, 1, 16, 24, 28),
        (1, 64, 1, 1, 90),
        (1, 1, 200, 150, 7),
        (1, 1, 3, 64, 60),
    ]:
        for layout in ("plain", "channels last"):
            x = laid_out((batch, groups * inputs, size, size), layout)
            w = torch.randn(groups * outputs, inputs, 3, 3)
            check(x, w, None, 1, 1, 1, groups)


def special_numbers():
    """Padding is zeros, and a NaN or an infinity goes where eager lets it go, through the activations too."""
    for layout in ("plain", "channels last"):
        x, w = laid_out((1, 4, 12, 12), layout), torch.randn(9, 4, 3, 3)
        for after in (lambda y: y, F.relu, F.relu6, lambda y: F.leaky_relu(y, 0.1)):
            graph = ost.accelerator.Graph(numerics="fast")
            graph._treat_as_weights((w,))
            with graph:
                out = after(F.conv2d(x, w, None, 1, 1))
            x.zero_()
            for at, value in enumerate((math.nan, math.inf, -math.inf, 1e-41, -0.0)):
                x[0, at % 4, 2 * at, 5] = value
            graph.replay()
            want = after(F.conv2d(x, w, None, 1, 1))
            torch.testing.assert_close(out, want, rtol=1e-4, atol=1e-5, equal_nan=True)


if __name__ == "__main__":
    torch.manual_seed(0)
    with mock.patch.object(_convolution, "_pays", return_value=True):  # also where torch's own is faster
        any_shape()
        long_sums()
        special_numbers()
        for threads in (1, 2):
            torch.set_num_threads(threads)
            on_threads()
    print(_native.info()["isa"])
