"""``torch.cond`` and ``torch.while_loop`` as nodes that are decided at replay; plain Python is the oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from ._backend import Backend, values

cond = pytest.mark.needs("cond")
loop = pytest.mark.needs("while_loop")


def _decides(
    backend: Backend,
    program: Callable[[], Any],
    feed: Callable[[float], object],
    want: Callable[[float], Any],
) -> None:
    """Captures ``program``, and compares what it gives for each number fed with ``want`` of the number."""
    feed(1.0)
    graph, out = backend.capture(program)
    for number in (2.0, -3.0, 4.0, -1.0):
        feed(number)
        graph.replay()
        backend.same(values(out), values(want(number)))


# ---- cond ---------------------------------------------------------------------
@cond
def test_both_ways(backend: Backend) -> None:
    x = backend.full(3, 0.0)
    _decides(
        backend,
        lambda: torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t - 1, (x,)),
        lambda number: x.fill_(number),
        lambda number: x * 2 if number > 0 else x - 1,
    )


@cond
def test_a_predicate_of_one_element(backend: Backend) -> None:
    x = backend.full(1, 0.0)
    _decides(
        backend,
        lambda: torch.cond(x > 0, lambda t: t.sin(), lambda t: t.cos(), (x,)),
        lambda number: x.fill_(number),
        lambda number: x.sin() if number > 0 else x.cos(),
    )


@cond
def test_closures(backend: Backend) -> None:
    x, scale = backend.full(3, 0.0), backend.arange(3)
    _decides(
        backend,
        lambda: torch.cond(x.sum() > 0, lambda: x * scale, lambda: scale + 1, ()),
        lambda number: x.fill_(number),
        lambda number: x * scale if number > 0 else scale + 1,
    )


@cond
def test_several_outputs(backend: Backend) -> None:
    x = backend.full(3, 0.0)
    _decides(
        backend,
        lambda: torch.cond(x.sum() > 0, lambda t: (t + 1, t.sum()), lambda t: (t - 1, t.prod()), (x,)),
        lambda number: x.fill_(number),
        lambda number: (x + 1, x.sum()) if number > 0 else (x - 1, x.prod()),
    )


@cond
def test_nested(backend: Backend) -> None:
    x = backend.full(3, 0.0)

    def inner(t: torch.Tensor) -> Any:
        return torch.cond(t.sum() > 10, lambda v: v * 100, lambda v: v * 10, (t,))

    def want(number: float) -> torch.Tensor:
        if number <= 0:
            return x - 1
        return x * 100 if number * 3 > 10 else x * 10

    _decides(
        backend,
        lambda: torch.cond(x.sum() > 0, inner, lambda t: t - 1, (x,)),
        lambda number: x.fill_(number),
        want,
    )


@cond
def test_what_comes_before_and_after(backend: Backend) -> None:
    x = backend.full(3, 0.0)

    def program() -> Any:
        y = x * 2
        z = torch.cond(y.sum() > 0, lambda t: t + 1, lambda t: t - 1, (y,))
        return z * y

    _decides(
        backend,
        program,
        lambda number: x.fill_(number),
        lambda number: (x * 2 + (1 if number > 0 else -1)) * (x * 2),
    )


@cond
def test_views_as_operands(backend: Backend) -> None:
    x = backend.full((3, 4), 0.0)
    _decides(
        backend,
        lambda: torch.cond(x.sum() > 0, lambda t: t @ t.t(), lambda t: -(t @ t.t()), (x.t()[1:3],)),
        lambda number: x.fill_(number),
        lambda number: (x.t()[1:3] @ x.t()[1:3].t()) * (1 if number > 0 else -1),
    )


@cond
def test_a_python_predicate_is_taken_at_capture(backend: Backend) -> None:
    x = backend.full(3, 1.0)
    graph, y = backend.capture(lambda: torch.cond(True, lambda t: t + 1, lambda t: t - 1, (x,)))
    x.fill_(5)
    graph.replay()
    assert y.tolist() == [6, 6, 6]


@cond
def test_the_branch_not_taken_may_fail(backend: Backend) -> None:
    x, index = backend.full(3, 1.0), backend.tensor([0, 99])
    graph, y = backend.capture(
        lambda: torch.cond(x.sum() > 0, lambda: x[:2] * 2, lambda: x[index.clamp(max=2)], ())
    )
    graph.replay()
    assert y.tolist() == [2, 2]


@cond
def test_writes_in_a_branch(backend: Backend) -> None:
    x, count = backend.full(3, 1.0), backend.full(1, 0.0)

    def program() -> Any:
        def yes() -> torch.Tensor:
            count.add_(1)
            return x * 2

        return torch.cond(x.sum() > 0, yes, lambda: x - 1, ())

    graph, y = backend.capture(program)
    assert count.item() == 0
    for number in (1.0, -1.0, 2.0):
        x.fill_(number)
        graph.replay()
        backend.same(y, x * 2 if number > 0 else x - 1)
    assert count.item() == 2


@cond
def test_random_numbers_in_a_branch(backend: Backend) -> None:
    x = backend.full(3, 1.0)

    def draw() -> torch.Tensor:
        return torch.rand(3, device=backend.device)

    graph, y = backend.capture(lambda: torch.cond(x.sum() > 0, draw, lambda: x * 1, ()))
    torch.manual_seed(3)
    want = draw()
    torch.manual_seed(3)
    x.fill_(-1)
    graph.replay()
    backend.same(y, x)
    x.fill_(1)
    graph.replay()
    backend.same(y, want)


@cond
def test_gradients_reach_operands_and_closed_over_parameters(backend: Backend) -> None:
    x = backend.full(3, 1.0).requires_grad_()
    weight = torch.nn.Parameter(backend.arange(3))

    def program() -> Any:
        y = torch.cond(x.sum() > 0, lambda t: t * weight, lambda t: t + 2 * weight, (x,))
        return torch.autograd.grad(y.sum(), [x, weight])

    graph, (of_x, of_weight) = backend.capture(program)
    graph.replay()
    backend.same([of_x, of_weight], [weight, x])
    with torch.no_grad():
        x.fill_(-1)
    graph.replay()
    backend.same([of_x, of_weight], [torch.ones_like(x), torch.full_like(x, 2.0)])


# ---- while_loop ---------------------------------------------------------------
@loop
def test_counting(backend: Backend) -> None:
    limit = backend.tensor(3)

    x = backend.full(2, 1.0)
    graph, (count, out) = backend.capture(
        lambda: torch.while_loop(
            lambda i, t: i < limit,
            lambda i, t: (i + 1, t * 2),
            (torch.zeros((), dtype=torch.int64, device=backend.device), x),
        )
    )
    for rounds in (3, 0, 7):
        limit.fill_(rounds)
        graph.replay()
        assert count.item() == rounds
        assert out.tolist() == [2.0**rounds] * 2
    assert x.tolist() == [1, 1]


@loop
def test_until_converged(backend: Backend) -> None:
    """Newton's iteration for a square root stops by itself."""
    a = backend.full(1, 2.0)

    def program() -> Any:
        return torch.while_loop(
            lambda x: (x * x - a).abs().max() > 1e-5 * a.max(), lambda x: ((x + a / x) / 2,), (a.clone(),)
        )

    graph, (root,) = backend.capture(program)
    for number in (2.0, 9.0, 144.0):
        a.fill_(number)
        graph.replay()
        assert abs(root.item() - number**0.5) < 1e-3


@loop
def test_no_round_at_all(backend: Backend) -> None:
    x = backend.full(2, 5.0)
    graph, (y,) = backend.capture(lambda: torch.while_loop(lambda t: t.sum() < 0, lambda t: (t + 1,), (x,)))
    graph.replay()
    assert y.tolist() == [5, 5]
    assert x.tolist() == [5, 5]


@loop
def test_loops_in_loops(backend: Backend) -> None:
    x = backend.full(1, 0.0)

    def body(t: torch.Tensor) -> tuple[torch.Tensor]:
        (inner,) = torch.while_loop(lambda u: u.sum() < 3, lambda u: (u + 1,), (torch.zeros_like(t),))
        return (t + inner,)

    graph, (y,) = backend.capture(lambda: torch.while_loop(lambda t: t.sum() < 10, body, (x,)))
    for start in (0.0, 8.0, 20.0):
        x.fill_(start)
        graph.replay()
        want = start
        while want < 10:
            want += 3
        assert y.item() == want


@loop
@cond
def test_a_condition_in_a_loop_and_a_loop_in_a_condition(backend: Backend) -> None:
    x = backend.full(1, 1.0)

    def body(t: torch.Tensor) -> tuple[torch.Tensor]:
        return (torch.cond(t.sum() % 2 == 0, lambda v: v / 2, lambda v: v * 3 + 1, (t,)),)

    def collatz(t: torch.Tensor) -> Any:
        return torch.while_loop(lambda v: v.sum() != 1, body, (t,))[0]

    graph, y = backend.capture(lambda: torch.cond(x.sum() > 0, collatz, lambda t: t * 1, (x,)))
    for number, want in ((7.0, 1.0), (-4.0, -4.0), (8.0, 1.0)):
        x.fill_(number)
        graph.replay()
        assert y.item() == want


@loop
def test_random_numbers_in_a_loop(backend: Backend) -> None:
    limit = backend.tensor(2)
    start = torch.zeros((), dtype=torch.int64, device=backend.device)

    zero = backend.full(3, 0.0)
    graph, (_, out) = backend.capture(
        lambda: torch.while_loop(
            lambda i, t: i < limit,
            lambda i, t: (i + 1, t + torch.rand(3, device=backend.device)),
            (start, zero),
        )
    )
    for rounds in (2, 4):
        limit.fill_(rounds)
        torch.manual_seed(6)
        want = zero.clone()
        for _ in range(rounds):
            want = want + torch.rand(3, device=backend.device)
        torch.manual_seed(6)
        graph.replay()
        backend.same(out, want)
