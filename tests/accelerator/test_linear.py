"""Linear layers in fast numerics: what becomes a packed product, what does not, and weights that change."""

from __future__ import annotations

import gc

import pytest
import torch

from ostinato import _native

from .support import captured

F = torch.nn.functional


def kernels(graph):
    return [node.op for node in graph.nodes]


LINEAR = "ostinato::linear"


@pytest.mark.parametrize("shape", [(8,), (1, 8), (3, 8), (2, 3, 8), (0, 8)])
@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_a_layer_with_its_relu_is_one_step(shape, inplace, bias):
    layer, x = torch.nn.Linear(8, 5, bias=bias), torch.randn(shape)
    graph, out = captured(lambda: F.relu(layer(x), inplace=inplace))
    if x.numel():
        assert kernels(graph) == [LINEAR]
    x.copy_(torch.randn(shape))
    graph.replay()
    torch.testing.assert_close(out, F.relu(layer(x)).detach())
    assert out.shape == F.relu(layer(x)).shape


def test_what_is_before_the_relu_is_kept_where_anybody_sees_it():
    layer, x, kept = torch.nn.Linear(8, 5), torch.randn(3, 8), []

    def held():
        kept.append(layer(x))
        return kept[0].relu()

    def read():
        y = layer(x)
        return y.relu() + y

    def partly():
        y = layer(x)
        y[1:].relu_()
        return y

    def changed():
        y = layer(x)
        y[0].mul_(-1)
        return y.relu()

    for function in (held, read, partly, changed):
        graph, out = captured(function)
        assert LINEAR in kernels(graph)
        x.normal_()
        graph.replay()
        with torch.no_grad():
            torch.testing.assert_close(out, function())
            if function is held:
                torch.testing.assert_close(kept[0], kept[1])


def test_a_relu_of_a_transposed_result_is_not_mistaken_for_the_result():
    layer, x = torch.nn.Linear(8, 5), torch.randn(5, 8)
    graph, out = captured(lambda: layer(x).t().relu())
    x.normal_()
    graph.replay()
    torch.testing.assert_close(out, layer(x).t().relu().detach())


def test_nan_and_infinities_go_where_eager_puts_them():
    layer, x = torch.nn.Linear(8, 20), torch.randn(5, 8)
    graph, out = captured(lambda: layer(x).relu())
    with torch.no_grad():
        layer.weight[3, 0] = 0.0
        layer.weight[4, 0] = float("inf")
        layer.bias[7] = float("nan")
    x[0, 0], x[1, 1], x[2, 0] = float("inf"), float("nan"), -float("inf")
    graph.replay()
    torch.testing.assert_close(out, layer(x).relu().detach(), equal_nan=True)
    assert out.isnan().any()
    assert out.isinf().any()


def test_a_changed_weight_is_packed_again():
    layer, x = torch.nn.Linear(8, 5), torch.randn(2, 8)
    graph, out = captured(lambda: layer(x))
    with torch.no_grad():
        layer.weight.mul_(-2)
        layer.bias.add_(1)
    graph.replay()
    torch.testing.assert_close(out, layer(x).detach())
    layer.weight.data.fill_(0.5)  # moves no version counter
    graph.refresh_weights()
    graph.replay()
    torch.testing.assert_close(out, layer(x).detach())


def test_a_weight_changed_by_another_graph_is_packed_again():
    layer, x = torch.nn.Linear(8, 5), torch.randn(2, 8)
    graph, out = captured(lambda: layer(x))
    change, _ = captured(lambda: layer.weight.mul_(3))
    change.replay()
    graph.replay()
    torch.testing.assert_close(out, layer(x).detach())


def test_a_weight_that_the_graph_itself_writes_is_not_packed():
    layer, x = torch.nn.Linear(8, 5), torch.randn(2, 8)

    def function():
        layer.weight.mul_(1.5)
        return layer(x)

    graph, out = captured(function)
    assert LINEAR not in kernels(graph)
    for _ in range(3):
        graph.replay()
        torch.testing.assert_close(out, layer(x).detach())


@pytest.mark.parametrize("factors", [{"alpha": 2}, {"beta": 0.5}, {"alpha": 0}])
def test_scaled_sums_are_left_to_torch(factors):
    layer, x = torch.nn.Linear(8, 5), torch.randn(2, 8)
    graph, out = captured(lambda: torch.addmm(layer.bias, x, layer.weight.t(), **factors))
    assert LINEAR not in kernels(graph)
    x.normal_()
    graph.replay()
    torch.testing.assert_close(out, torch.addmm(layer.bias, x, layer.weight.t(), **factors).detach())


def test_other_dtypes_and_broadcast_starts_are_left_to_torch():
    x = torch.randn(2, 8)
    w = torch.nn.Parameter(torch.randn(8, 5))
    for start in (torch.randn(1), torch.randn(2, 1), torch.randn(2, 5)):
        graph, out = captured(lambda s=start: torch.addmm(s, x, w))
        assert (LINEAR in kernels(graph)) == (start.shape == (2, 5))
        x.normal_()
        graph.replay()
        torch.testing.assert_close(out, torch.addmm(start, x, w).detach())
    layer, wide = torch.nn.Linear(8, 5).double(), x.double()
    graph, out = captured(lambda: layer(wide))
    assert LINEAR not in kernels(graph)
    graph.replay()
    torch.testing.assert_close(out, layer(wide).detach())


def test_graphs_of_one_module_share_one_packed_copy():
    native = _native.ops()
    layer = torch.nn.Linear(640, 320)
    gc.collect()
    before = native.packed_bytes()
    graphs = []
    for rows in (1, 2, 5, 33):
        x = torch.randn(rows, 640)
        graphs.append((x, *captured(lambda x=x: layer(x))))
    assert native.packed_bytes() - before == 4 * 640 * 320
    with torch.no_grad():
        layer.weight.neg_()
    for x, graph, out in graphs:
        graph.replay()
        torch.testing.assert_close(out, layer(x).detach())
    assert native.packed_bytes() - before == 4 * 640 * 320
    graphs.clear()
    del graph
    gc.collect()
    assert native.packed_bytes() == before


def test_weights_in_the_memory_of_others_that_are_gone_are_not_mistaken_for_them():
    x = torch.randn(2, 64)
    for _ in range(20):
        weight = torch.nn.Parameter(torch.randn(64, 64))
        graph, out = captured(lambda w=weight: x @ w)
        graph.replay()
        torch.testing.assert_close(out, (x @ weight).detach())


def test_the_number_of_threads_may_change_after_the_capture():
    layer, x = torch.nn.Linear(300, 1000), torch.randn(40, 300)
    threads = torch.get_num_threads()
    try:
        for first, second in ((1, 2), (2, 1)):
            torch.set_num_threads(first)
            graph, out = captured(lambda: layer(x))
            torch.set_num_threads(second)
            x.normal_()
            graph.replay()
            torch.testing.assert_close(out, layer(x).detach(), rtol=1e-4, atol=1e-5)
    finally:
        torch.set_num_threads(threads)
