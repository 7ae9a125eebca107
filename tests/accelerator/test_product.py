"""Products of two tensors that both change, in fast numerics: gradients, starts, layouts, odd numbers."""

from __future__ import annotations

import copy
import itertools

import pytest
import torch

import ostinato as ost

from .support import captured

F = torch.nn.functional
PRODUCT = "ostinato::product"


def kernels(graph):
    return [node.op for node in graph.nodes]


def agrees(function, *changing, by=PRODUCT):
    """Replays with other numbers, and compares with eager in float64."""
    graph, out = captured(lambda: function(*changing))
    assert kernels(graph).count(by) == 1
    for tensor in changing:
        tensor.copy_(torch.randn(tensor.shape))
    graph.replay()
    want = function(*(t.double() for t in changing))
    torch.testing.assert_close(out.double(), want, rtol=1e-4, atol=1e-5)
    assert out.stride() == want.stride()


MATRIX_STARTS = [(33,), (1, 33), (9, 33)]
BATCH_STARTS = [*MATRIX_STARTS, (4, 9, 33), (4, 1, 33), (1, 9, 33)]


@pytest.mark.parametrize(
    ("batch", "start"), [*((1, s) for s in MATRIX_STARTS), *((4, s) for s in BATCH_STARTS)]
)
def test_sums_that_start_from_rows(batch, start):
    a, b = torch.randn(9, 20), torch.randn(33, 20).t()
    add = torch.addmm
    if batch > 1:
        a, b, add = torch.randn(4, 20, 9).mT, torch.randn(4, 20, 33), torch.baddbmm
    agrees(lambda a, b, start: add(start, a, b), a, b, torch.randn(start))


@pytest.mark.parametrize("start", [(1,), (9, 1), ()])
def test_sums_that_start_from_columns_are_left_to_torch(start):
    a, b = torch.randn(9, 20), torch.randn(20, 33)
    agrees(lambda a, b, s: torch.addmm(s, a, b), a, b, torch.randn(start), by="aten.addmm.default")


def test_a_matrix_times_itself_and_expanded_operands():
    agrees(lambda x: x.t() @ x, torch.randn(20, 7))
    agrees(
        lambda x, y: torch.bmm(x.expand(5, 3, 4), y.unsqueeze(0).expand(5, 4, 6)),
        torch.randn(3, 4),
        torch.randn(4, 6),
    )
    agrees(lambda x, y: x.expand(8, 6) @ y, torch.randn(8, 1), torch.randn(6, 5))


def test_infinities_and_nans_go_where_eager_puts_them():
    a, b = torch.randn(13, 30), torch.randn(30, 21)
    graph, out = captured(lambda: a @ b)
    a[0, 0], a[3, 4], a[7, 7] = float("inf"), float("nan"), -float("inf")
    b[0, 5], b[7, 2] = 0.0, float("inf")
    graph.replay()
    torch.testing.assert_close(out, a @ b, equal_nan=True)
    assert out.isnan().any()
    assert out.isinf().any()


def test_empty_products_and_other_dtypes_are_left_to_torch():
    for a, b in [
        (torch.randn(3, 0), torch.randn(0, 4)),
        (torch.randn(0, 3), torch.randn(3, 4)),
        (torch.randn(3, 5).double(), torch.randn(5, 4).double()),
        (torch.randn(3, 5, dtype=torch.cfloat).conj(), torch.randn(5, 4, dtype=torch.cfloat)),
    ]:
        graph, out = captured(lambda a=a, b=b: a @ b)
        assert PRODUCT not in kernels(graph)
        graph.replay()
        torch.testing.assert_close(out, a @ b)


@pytest.mark.parametrize("threads", [(1, 2), (2, 1)])
def test_the_number_of_threads_may_change_after_the_capture(threads):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads[0])
        x, y = torch.randn(90, 300), torch.randn(300, 400)
        graph, out = captured(lambda: x @ y)
        torch.set_num_threads(threads[1])
        y.normal_()
        graph.replay()
        torch.testing.assert_close(out, x @ y, rtol=1e-4, atol=1e-4)
    finally:
        torch.set_num_threads(before)


def _strided(shape, kind):
    """A matrix of numbers whose elements lie in one of several orders."""
    rows, columns = shape
    if kind == "transposed":
        return torch.randn(columns, rows).t()
    return torch.randn(rows, 2 * columns)[:, ::2] if kind == "spread" else torch.randn(shape)


@pytest.mark.parametrize("kinds", list(itertools.product(["plain", "transposed", "spread"], repeat=2)))
@pytest.mark.parametrize("sizes", [(8, 1, 1), (8, 5, 16), (31, 300, 33), (64, 17, 100)])
@pytest.mark.parametrize("start", [None, "row", "all"])
def test_a_product_is_packed_at_each_replay(kinds, sizes, start):
    m, k, n = sizes
    a, b = _strided((m, k), kinds[0]), _strided((k, n), kinds[1])
    bias = {None: None, "row": torch.randn(n), "all": torch.randn(m, n)}[start]

    def function():
        return (a @ b if bias is None else torch.addmm(bias, a, b)).relu()

    graph, out = captured(function)
    assert kernels(graph) == [PRODUCT]
    for _ in range(2):
        a.normal_()
        b.numpy()[:] = torch.randn(k, n).numpy()  # moves no version counter
        graph.replay()
        torch.testing.assert_close(out, function(), rtol=1e-4, atol=1e-4)
        exact = (a.double() @ b.double() + (0 if bias is None else bias)).relu()
        error = (out - exact).abs().max()
        assert error <= 4 * (function() - exact).abs().max() + 1e-5


@pytest.mark.parametrize("threads", [1, 2])
def test_a_training_step_takes_it_for_all_its_products(threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        torch.manual_seed(0)
        nets = [torch.nn.Sequential(torch.nn.Linear(20, 40), torch.nn.ReLU(), torch.nn.Linear(40, 10))]
        nets.append(copy.deepcopy(nets[0]))
        x, y = torch.randn(32, 20), torch.randint(0, 10, (32,))
        steps = []
        for net in nets:
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

            def step(net=net, optimizer=optimizer):
                optimizer.zero_grad()
                F.cross_entropy(net(x), y).backward()
                optimizer.step()

            step()
            steps.append(step)
        graph = ost.accelerator.Graph(numerics="fast")
        with graph:
            steps[0]()
        assert kernels(graph).count(PRODUCT) == 5
        for _ in range(20):
            x.normal_()
            graph.replay()
            steps[1]()
            torch.testing.assert_close(
                list(nets[0].parameters()), list(nets[1].parameters()), rtol=1e-4, atol=1e-5
            )
    finally:
        torch.set_num_threads(before)
