"""Run in a process of its own with OSTINATO_ISA set: kernels over rows, against float64 and eager torch."""

from __future__ import annotations

import torch
from hypothesis import given, settings, strategies as st

import ostinato as ost
from ostinato import _native

F = torch.nn.functional
INF, NAN = float("inf"), float("nan")
aten = torch.ops.aten

# Around the widths of vectors, of unrolled loops and of blocks.
WIDTHS = st.sampled_from([1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 256, 1023, 4096, 4097, 9001])
SPECIAL = [None, NAN, INF, -INF, -0.0, 1e-42, 3e38]


def replayed(function, *inputs):
    """What a replay gives for inputs that came after the capture, and the kernels that it ran."""
    graph = ost.accelerator.Graph(numerics="fast")
    now = [x.clone() for x in inputs]
    for x in inputs:
        x.zero_()
    with torch.no_grad(), graph:
        out = function(*inputs)
    for x, value in zip(inputs, now, strict=True):
        x.copy_(value)
    graph.replay()
    return out, [node.op for node in graph.nodes]


def assert_close(got, eager, wide):
    """Within the promise of fast numerics: near eager, and no further from float64 than four times eager."""
    overflowed = eager.isnan() & wide.isfinite()  # inside eager alone: no NaN of the inputs
    kept = torch.where(overflowed, got, eager)
    torch.testing.assert_close(got, kept, rtol=1e-4, atol=1e-5, equal_nan=True)
    finite = wide.isfinite() & eager.isfinite()
    error, of_eager = ((t.double() - wide)[finite].abs() for t in (got, eager))
    assert bool((error <= 4 * of_eager.max() + 1e-5).all()) if error.numel() else True


def check(kernel, function, *inputs):
    got, kernels = replayed(function, *inputs)
    assert kernels == [kernel], kernels
    assert_close(got, function(*inputs), function(*(x.double() for x in inputs)))


def numbers(shape, special, offset=0.0):
    torch.manual_seed(0)  # hypothesis must see the same failure again
    x = torch.randn(shape) * 2 + offset
    if special is not None:
        x.view(-1)[torch.randint(0, x.numel(), (1 + x.numel() // 50,))] = special
    return x


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), WIDTHS, st.sampled_from(SPECIAL), st.sampled_from([0.0, 3.0]), st.booleans())
def norms(rows, width, special, offset, biased):
    x, w, b = numbers((rows, width), special, offset), torch.randn(width), torch.randn(width)
    check(
        "ostinato::layer_norm", lambda x, w, b: F.layer_norm(x, (width,), w, b if biased else None), x, w, b
    )
    check("ostinato::layer_norm", lambda x: F.layer_norm(x, (width,), bias=None, eps=1e-3), x)
    check("ostinato::rms_norm", lambda x, w: F.rms_norm(x, (width,), w, eps=1e-6), x, w)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 3),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([1, 3, 8]),
    st.sampled_from([(), (1,), (7,), (3, 11), (16, 16)]),
    st.sampled_from(SPECIAL),
)
def group_norms(batch, groups, channels, space, special):
    x = numbers((batch, groups * channels, *space), special)
    if x[0].numel() == groups:
        return  # torch refuses groups of one number
    w, b = torch.randn(groups * channels), torch.randn(groups * channels)
    check("ostinato::group_norm", lambda x, w, b: F.group_norm(x, groups, w, b), x, w, b)
    check("ostinato::group_norm", lambda x: F.group_norm(x, groups), x)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), WIDTHS, st.sampled_from(SPECIAL), st.sampled_from([0.0, 100.0, -1e4]))
def softmaxes(rows, width, special, offset):
    x = numbers((rows, width), special, offset)
    x[0, : width // 2] = -INF
    if special is NAN:
        x[-1] = -INF
    check("ostinato::softmax", lambda x: F.softmax(x, -1), x)
    check("ostinato::softmax", lambda x: F.log_softmax(x, -1), x)
    check("ostinato::softmax", lambda x: aten._safe_softmax(x, -1), x)


if __name__ == "__main__":
    norms()
    group_norms()
    softmaxes()
    print(_native.info()["isa"])
