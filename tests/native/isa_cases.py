"""Run by test_native.py with OSTINATO_ISA set: kernels against float64 and against eager torch."""

from __future__ import annotations

import torch

import ostinato as ost
from ostinato import _native

SHAPES = [((7,), (7,)), ((3, 1, 37), (5, 37)), ((130, 67), ()), ((0, 3), (3,)), ((), ())]


def captured(function, weights=(), numerics="exact"):
    graph = ost.accelerator.Graph(numerics=numerics)
    graph._treat_as_weights(weights)
    with graph:
        out = function()
    return graph, out


def pointwise():
    dtypes = (torch.float32, torch.float64, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
    functions = [torch.add, torch.sub, lambda a, b: torch.sub(a, b, alpha=1)]
    for dtype in dtypes:
        for shape_a, shape_b in SHAPES:
            a, b = (torch.randint(0, 100, s).to(dtype) for s in (shape_a, shape_b))
            for function in functions:
                graph, out = captured(lambda f=function, x=a, y=b: f(x, y))
                a.copy_(torch.randint(0, 120, shape_a))
                graph.replay()
                assert torch.equal(out, function(a, b)), (dtype, shape_a, shape_b)
                assert graph.stats()["steps"]["kernel"] == 1
    x = torch.randn(50, 33)
    x[0, :4] = torch.tensor([float("nan"), float("inf"), -0.0, 0.0])
    x = x.t()
    for function in (
        lambda: torch.nn.functional.leaky_relu(x, 0.1),
        lambda: torch.nn.functional.hardtanh(x, -0.5, 0.25),
        lambda: torch.nn.functional.threshold(x, 0.1, 3.0),
        lambda: torch.ops.aten.threshold_backward(x, x, 0.0),
    ):
        graph, out = captured(function)
        graph.replay()
        assert graph.stats()["steps"]["kernel"] == 1
        torch.testing.assert_close(out, function(), rtol=0, atol=0, equal_nan=True)


def joins():
    """Inside a program, where the memory of a join is a part of the pool that does not begin at its start."""
    x = torch.randn(4, 33)

    def function():
        y = x * 2
        rows = torch.cat([y, x, y[:2]], 0)
        columns = torch.cat([rows[:4], y.t()[:4, :4]], 1)
        deep = torch.stack([y, x + 1], 1)
        return rows.sum(0), columns.relu(), deep.sum(1), torch.cat([columns, columns[:, ::2]], -1) * 1.0

    graph, out = captured(function)
    for _ in range(3):
        x.normal_()
        graph.replay()
        for got, want in zip(out, function(), strict=True):
            assert torch.equal(got, want)


def large_sums_use_all_threads():
    a, b = torch.randn(300, 1000), torch.randn(300, 1000)
    for x, y in ((a, b), (a.t(), b.t()), (a, b[:1]), (a[:, ::2], b[:, ::2])):
        graph, out = captured(lambda p=x, q=y: p + q)
        graph.replay()
        assert torch.equal(out, x + y)


def pooling():
    x = torch.randint(-3, 4, (3, 2, 15, 18)).float()
    x[0, 0, :4, :4] = float("nan")
    for options in ({"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}):
        pool = torch.nn.functional.max_pool2d_with_indices
        graph, (out, places) = captured(lambda o=options, f=pool: f(x, **o))
        graph.replay()
        want, wanted_places = pool(x, **options)
        torch.testing.assert_close(out, want, rtol=0, atol=0, equal_nan=True)
        assert torch.equal(places, wanted_places)
        assert graph.stats()["steps"]["kernel"] == 1


if __name__ == "__main__":
    torch.manual_seed(0)
    pointwise()
    joins()
    large_sums_use_all_threads()
    pooling()
    print(_native.info()["isa"])
