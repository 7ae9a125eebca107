"""torch.while_loop inside a capture, and what unrolls: scan, map, associative_scan."""

from __future__ import annotations

import pytest
import torch
from torch._higher_order_ops import associative_scan, map as map_over, scan

from ostinato.accelerator import CaptureError

from .control_flow import check
from .support import assert_replays_like_eager, capture, refuses


@pytest.fixture(autouse=True)
def _no_grad():
    with torch.no_grad():
        yield


@pytest.fixture
def limit():
    return torch.tensor(3)


@pytest.fixture
def x():
    return torch.randn(4)


def rounds(limit, *numbers):
    return [lambda n=n: limit.fill_(n) for n in numbers]


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_each_replay_counts(limit, x, numerics):
    zero = torch.tensor(0)
    graph, _ = check(
        lambda t: t.while_loop(lambda i, y: i < limit, lambda i, y: (i + 1, y * 1.5 + x), (zero + 0, x * 1)),
        [x],
        rounds(limit, 3, 0, 1, 50),
        numerics,
        assert_same=torch.testing.assert_close,
    )
    assert graph.stats()["steps"]["python"] == 0


def test_carried_values_may_change_places(limit, x):
    check(
        lambda t: t.while_loop(
            lambda i, a, b, c: i < limit,
            lambda i, a, b, c: (i + 1, b, c, a),
            (limit * 0, x * 1, x.sin(), x.cos()),
        ),
        [x],
        rounds(limit, 0, 1, 2, 3, 4),
    )


def test_results_that_look_at_carried_values(limit):
    x = torch.randn(3, 3)
    check(
        lambda t: t.while_loop(
            lambda i, a, b: i < limit, lambda i, a, b: (i + 1, b.t(), a + b), (limit * 0, x * 1, x.sin())
        ),
        [x],
        rounds(limit, 0, 1, 2, 5),
        assert_same=torch.testing.assert_close,
    )


def test_buffers_are_written_in_rounds(limit, x):
    history, index = torch.zeros(8, 4), torch.zeros(1, dtype=torch.int64)

    def f(t):
        index.zero_()

        def body(y):
            history.index_copy_(0, index, y.unsqueeze(0))
            index.add_(1)
            return (y.sin(),)

        return t.while_loop(lambda y: (index < limit).squeeze(), body, (x * 1,))

    check(f, [history, index], rounds(limit, 3, 0, 7))


def test_loops_and_conditions_in_one_another(limit, x):
    def f(t):
        def body(i, y):
            y = t.cond(y.sum() > 0, lambda y: y - 1, lambda y: y * -2 + 0.5, (y,))
            _, y = t.while_loop(lambda j, y: j < i, lambda j, y: (j + 1, y * 0.5 + j), (i * 0, y))
            return i + 1, y

        return t.cond(
            limit > 1,
            lambda: t.while_loop(lambda i, y: i < limit, body, (limit * 0, x * 1))[1],
            lambda: x.exp(),
        )

    check(f, [x], rounds(limit, 4, 0, 2, 9))


def test_the_generator_moves_as_in_eager(limit, x):
    def f(t):
        def body(i, y):
            return i + 1, torch.nn.functional.dropout(y, 0.5) + torch.rand(4)

        return torch.rand(2), t.while_loop(lambda i, y: i < limit, body, (limit * 0, x * 1)), torch.rand(2)

    check(f, [x], rounds(limit, 3, 0, 1, 5))


def test_a_seed_in_a_round(limit, x):
    def f(t):
        def body(i, y):
            torch.manual_seed(11)
            return i + 1, y + torch.rand(4)

        return t.while_loop(lambda i, y: i < limit, body, (limit * 0, x * 1)), torch.rand(2)

    check(f, [x], rounds(limit, 3, 0, 1))


def test_python_steps_in_a_round(limit, x):
    def f(t):
        def body(i, y):
            return i + 1, torch.histc(y.sin(), 4, -1.0, 1.0) * 0.3 + y

        return t.while_loop(lambda i, y: i < limit, body, (limit * 0, x * 1))

    graph, _ = check(f, [x], rounds(limit, 3, 0, 1, 6))
    assert graph.stats()["steps"]["python"] == 1


def test_literals_in_rounds(limit, x):
    def f(t):
        def body(i, y):
            step = torch.tensor([1.0, 2.0, 3.0, 4.0])
            step += y
            return i + 1, step

        return t.while_loop(lambda i, y: i < limit, body, (limit * 0, x * 1))

    check(f, [x], rounds(limit, 3, 0, 1, 6))


def test_a_long_loop_comes_back_and_goes_on():
    n = torch.tensor((1 << 20) + 5)
    graph, (count,) = capture(lambda: torch.while_loop(lambda i: i < n, lambda i: (i + 1,), (n * 0,)))
    graph.replay()
    assert count == n


def test_temporaries_of_a_round_do_not_reach_what_lasts():
    n = torch.tensor(4)
    x = torch.randn(1000)
    kept = torch.randn(1000)

    def f(t):
        base = kept.exp()  # made before the loop, read in every round and not after it

        def body(i, y):
            z = y.sin().cos().tanh() + base
            return i + 1, z.cos().sin()

        return t.while_loop(lambda i, y: (i < n) & (y.sum() < 1e9), body, (n * 0, x * 1))

    check(f, [x, kept], rounds(n, 4, 0, 9), assert_same=torch.testing.assert_close)


def test_scan():
    x = torch.randn(5, 3)
    assert_replays_like_eager(
        lambda: scan(lambda c, e: (c + e, (c * e).sin()), x[0] * 0, x),
        [x],
        lambda t: t.normal_(),
    )


def test_map():
    x = torch.randn(4, 3)
    assert_replays_like_eager(lambda: map_over(lambda e: e.cumsum(0) * 2, x), [x], lambda t: t.normal_())


def test_associative_scan():
    x = torch.randn(7, 3)
    assert_replays_like_eager(
        lambda: associative_scan(torch.add, x, 0, combine_mode="generic"), [x], lambda t: t.normal_()
    )


class TestRefused:
    def test_numbers(self, x):
        f = lambda: torch.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y), (0, x))  # noqa: E731
        refuses(lambda: capture(f), CaptureError, "loop_number")

    def test_another_dtype(self, x):
        f = lambda: torch.while_loop(lambda y: y.sum() < 3, lambda y: (y.double(),), (x,))  # noqa: E731
        assert "float64" in refuses(lambda: capture(f), CaptureError, "loop_results").message

    def test_a_test_that_is_always_true(self, x):
        refuses(
            lambda: capture(lambda: torch.while_loop(lambda y: True, lambda y: (y + 1,), (x,))),
            CaptureError,
            "endless",
        )

    def test_a_stack_of_rounds(self, x):
        stack = torch.ops.higher_order.while_loop_stack_output
        f = lambda: stack(lambda y: y.sum() < 3, lambda y: (y + 1,), (x,), ())  # noqa: E731
        refuses(lambda: capture(f), CaptureError, "data_dependent_shape")
