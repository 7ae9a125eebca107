"""Run by test_native.py with OSTINATO_ISA set: products against float64.

A live product is one whose right side changes as well. Larger ones are left to torch where it is the faster,
as with narrow registers: both are checked then.
"""

from __future__ import annotations

import torch
from hypothesis import given, settings, strategies as st

import ostinato as ost
from ostinato import _native

LAYOUTS = ("plain", "transposed", "padded", "every other")


def laid_out(rows, columns, layout):
    """Random numbers of this shape, the strides as the layout says."""
    if layout == "transposed":
        return torch.randn(columns, rows).t()
    if layout == "padded":
        return torch.randn(rows, columns + 3)[:, 1 : columns + 1]
    if layout == "every other":
        return torch.randn(rows, 2 * columns)[:, ::2]
    return torch.randn(rows, columns)


def addmm(a, b, start):
    return torch.addmm(start, a, b)


def check(function, *tensors, live=False):
    """One step; its error is at most four times that of eager."""
    graph = ost.accelerator.Graph(numerics="fast")
    if not live:
        graph._treat_as_weights(tensors[1:2])
    with graph:
        out = function(*tensors)
    assert graph.stats()["steps"]["fused"] == len(graph.nodes) == 1
    for tensor in tensors[: 2 if live else 1]:
        tensor.copy_(torch.randn(tensor.shape))
    graph.replay()
    want = function(*(t.double() for t in tensors))
    error, eager = ((result - want).abs().max() for result in (out, function(*tensors)))
    assert error <= 4 * eager + 1e-5


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    m=st.integers(1, 70),
    k=st.one_of(st.integers(1, 40), st.integers(250, 600)),
    n=st.one_of(st.integers(1, 70), st.integers(100, 300)),
    layouts=st.tuples(st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS)),
    start=st.sampled_from(["none", "row", "rows"]),
    relu=st.booleans(),
)
def any_shape(m, k, n, layouts, start, relu):
    a, b = laid_out(m, k, layouts[0]), laid_out(k, n, layouts[1])
    begin = () if start == "none" else (torch.randn(n) if start == "row" else torch.randn(m, n + 2)[:, 2:],)

    def function(a, b, *begin):
        product = addmm(a, b, *begin) if begin else torch.mm(a, b)
        return product.relu() if relu else product

    check(function, a, b, *begin)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    batch=st.integers(1, 5),
    m=st.integers(1, 70),
    k=st.one_of(st.integers(1, 40), st.integers(1000, 1100)),
    n=st.one_of(st.integers(1, 40), st.integers(100, 300)),
    layouts=st.tuples(st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS)),
    start=st.sampled_from(["none", "row", "rows"]),
)
def any_live_shape(batch, m, k, n, layouts, start):
    many = batch > 1
    a = torch.stack([laid_out(m, k, layouts[0]).t() for _ in range(batch)]).mT
    b = torch.stack([laid_out(k, n, layouts[1]) for _ in range(batch)])
    if not many:
        a, b = laid_out(m, k, layouts[0]), laid_out(k, n, layouts[1])
    if start == "none":
        return check(torch.bmm if many else torch.mm, a, b, live=True)
    sizes = (n,) if start == "row" else (batch, m, n)[not many :]
    add = torch.baddbmm if many else torch.addmm
    return check(lambda a, b, begin: add(begin, a, b), a, b, torch.randn(sizes), live=True)


def live_by_rows_and_by_columns():
    """Columns dealt out and packed in pieces, rows dealt out, k in pieces, a batch of fewer than threads."""
    for m, k, n in [(37, 1300, 700), (800, 300, 50), (3, 2500, 1000), (64, 1024, 1024)]:
        check(torch.mm, torch.randn(m, k), torch.randn(n, k).t(), live=True)
        check(addmm, torch.randn(k, m).t(), torch.randn(k, n), torch.randn(n), live=True)


def one_row():
    for k, n in [(1, 1), (7, 5), (32, 12), (64, 64), (47, 256), (513, 130), (256, 256)]:
        check(addmm, torch.randn(1, k), torch.randn(n, k).t(), torch.randn(n))


def on_threads():
    """Columns dealt out, rows dealt out, and odd numbers of both."""
    for m, k, n in [(1, 1100, 1111), (33, 250, 333), (2000, 64, 40), (501, 300, 7)]:
        check(addmm, torch.randn(m, k), torch.randn(n, k).t(), torch.randn(n))


def batches():
    check(torch.bmm, torch.randn(3, 5, 20), torch.randn(3, 20, 33))
    check(torch.bmm, torch.randn(5, 3, 20).transpose(0, 1), torch.randn(3, 33, 20).transpose(1, 2))


if __name__ == "__main__":
    torch.manual_seed(0)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        on_threads()
        live_by_rows_and_by_columns()
    any_shape()
    any_live_shape()
    one_row()
    batches()
    print(_native.info()["isa"])
