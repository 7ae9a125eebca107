"""Who owns which memory, pools, and every way to write through an alias."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

from ._backend import Backend

F = torch.nn.functional


# ---- who lives how long -------------------------------------------------------
def test_outputs_outlive_their_graph(backend: Backend) -> None:
    x = backend.arange(1000)
    graph, y = backend.capture(lambda: (x + 1) * 2)
    graph.replay()
    del graph
    gc.collect()
    backend.normal(1000).mul_(3)  # whatever takes memory that was freed
    backend.same(y, (x + 1) * 2)


def test_outputs_outlive_a_reset(backend: Backend) -> None:
    x = backend.arange(1000)
    graph, y = backend.capture(lambda: (x + 1) * 2)
    graph.replay()
    graph.reset()
    with graph:
        z = x - 1
    graph.replay()
    backend.same([y, z], [(x + 1) * 2, x - 1])


def test_a_dropped_output_does_not_matter(backend: Backend) -> None:
    x = backend.arange(100)
    graph, (y, z) = backend.capture(lambda: (x + 1, x * 2))
    del y
    gc.collect()
    x.fill_(3)
    graph.replay()
    backend.same(z, x * 2)


def test_an_intermediate_is_not_kept_as_a_tensor(backend: Backend) -> None:
    x = backend.arange(100)
    kept: list[Any] = []

    def program() -> torch.Tensor:
        inner = x + 1
        kept.append(weakref.ref(inner))
        return inner * 2

    graph, y = backend.capture(program)
    graph.replay()
    backend.same(y, (x + 1) * 2)
    graph.reset()
    gc.collect()
    assert kept[0]() is None


# ---- pools --------------------------------------------------------------------
def test_every_graph_has_a_pool_of_its_own(backend: Backend) -> None:
    x = backend.arange(3)
    first, _ = backend.capture(lambda: x + 1)
    second, _ = backend.capture(lambda: x + 1)
    assert first.pool() != second.pool()
    assert first.pool() == first.pool()


def test_a_graph_says_which_pool_it_was_given(backend: Backend) -> None:
    x = backend.arange(3)
    first, _ = backend.capture(lambda: x + 1)
    second, _ = backend.capture(lambda: x + 1, pool=first.pool())
    assert second.pool() == first.pool()


def test_graphs_of_one_pool_take_turns(backend: Backend) -> None:
    """The later ones need more memory than the first, which must not lose what it has."""
    pool, made = None, []
    for size in (10, 1000, 100):
        x = backend.normal(size, seed=size)
        graph = backend.graph(pool=pool)
        with graph:
            y = ((x * 2).sin() + 1).cos()
        pool = graph.pool()
        made.append((graph, x, y))
    for seed in (1, 2):
        for graph, x, y in made:
            x.copy_(backend.normal(*x.shape, seed=seed))
            graph.replay()
            backend.same(y, ((x * 2).sin() + 1).cos())


def test_one_graph_of_a_pool_can_go(backend: Backend) -> None:
    x = backend.normal(500)
    first, a = backend.capture(lambda: x.sin() * 2 + 1)
    second, b = backend.capture(lambda: x.cos() * 3 + 1, pool=first.pool())
    first.replay()
    first.reset()
    del first
    gc.collect()
    second.replay()
    backend.same([a, b], [x.sin() * 2 + 1, x.cos() * 3 + 1])


def test_outputs_of_graphs_that_share_a_pool_do_not_overlap(backend: Backend) -> None:
    x = backend.normal(64)
    first, a = backend.capture(lambda: x + 1)
    second, b = backend.capture(lambda: x + 2, pool=first.pool())
    first.replay()
    second.replay()
    backend.same([a, b], [x + 1, x + 2])


# ---- weights ------------------------------------------------------------------
def test_a_weight_may_change_between_replays(backend: Backend) -> None:
    layer = backend.module(torch.nn.Linear(16, 16))
    x = backend.normal(4, 16)
    with torch.no_grad():
        graph, y = backend.capture(lambda: layer(x))
        for factor in (0.5, 3.0):
            for parameter in layer.parameters():
                parameter.mul_(factor)
            graph.replay()
            backend.same(y, layer(x))


def test_a_weight_written_unseen_is_said(backend: Backend) -> None:
    layer = backend.module(torch.nn.Linear(16, 16))
    x = backend.normal(4, 16)
    with torch.no_grad():
        graph, y = backend.capture(lambda: layer(x))
        graph.replay()
        for parameter in layer.parameters():
            parameter.data.mul_(2)
        graph.refresh_weights()
        graph.replay()
        backend.same(y, layer(x))


# ---- aliases ------------------------------------------------------------------
def _views_of_views(x: torch.Tensor) -> Any:
    y = x * 2
    z = y.view(6, 2)[1:5].t()[0]
    z.add_(10)
    y[0, :2] = x[1, :2]
    return y, z


def _in_place(x: torch.Tensor) -> Any:
    y = x.exp()
    y.mul_(2).add_(x).clamp_(max=3)
    return y, x.mul_(0.5), x[0].sub_(y[1])


def _overlapping(x: torch.Tensor) -> Any:
    wide = x.view(-1).as_strided((5, 4), (2, 1))
    return wide + 1, wide.sum(0)


def _expanded(x: torch.Tensor) -> Any:
    e = x[:, :1].expand(3, 5)
    return e * 2, e.sum(1), e


def _given_outputs(x: torch.Tensor) -> Any:
    a, b, c = (torch.empty(s, device=x.device) for s in ((3, 4), (0,), (4, 3)))
    torch.add(x, 1, out=a)
    torch.mul(x, a, out=b)
    torch.sin(x, out=c.t())
    return a, b, c


def _foreach(x: torch.Tensor) -> Any:
    parts = [x[0].clone(), x[1] * 1, x[:, 0].contiguous()]
    torch._foreach_mul_(parts, 2.0)
    torch._foreach_add_(parts, [1.0, 2.0, 3.0])
    return parts


def _factories(x: torch.Tensor) -> Any:
    return (
        torch.zeros(2, 2, device=x.device).add_(x[0, 0]),
        torch.ones_like(x) * x,
        torch.arange(4, device=x.device) * x,
        torch.full((3, 1), 2.5, device=x.device) * x,
    )


def _scatter(x: torch.Tensor) -> Any:
    index = torch.zeros(2, 4, dtype=torch.int64, device=x.device)
    y = x.clone()
    y.scatter_(0, index, x[:2])
    y.masked_fill_(x > 0, -1.0)
    return y, x.gather(0, index), torch.where(x > 0, x, y)


def _rows(x: torch.Tensor) -> Any:
    y = x.clone()
    y[1:] = y[:-1].clone()
    y[:, ::2].neg_()
    return y, torch.cat([x, y]), torch.stack([x[0], y[2]]), y.t().contiguous()


def _empty(x: torch.Tensor) -> Any:
    none = x[:0]
    return none + 1, none.sum(), torch.cat([none, x])


def _no_dimensions(x: torch.Tensor) -> Any:
    s = x.sum()
    s.div_(2)
    return s, s * 2, x[0, 0].clone().add_(1), s.expand(3)


def _other_types(x: torch.Tensor) -> Any:
    return x.double() * 2, (x * 10).to(torch.int32), x > 0, (x > 0).long().sum(), x.bfloat16() + 1


def _reductions(x: torch.Tensor) -> Any:
    return x.sum(), x.mean(0), x.amax(1), x.softmax(-1), x.var(1), x.cumsum(1), x.argmax(1)


def _products(x: torch.Tensor) -> Any:
    return x @ x.t(), F.linear(x, x), (x @ x.t()).relu() @ x, torch.einsum("ij,ij->i", x, x)


def _copies(x: torch.Tensor) -> Any:
    y = torch.empty_like(x)
    y.copy_(x.flip(0))
    y[0].copy_(y[1])
    return y, y.clone(), x.repeat(2, 1)


PROGRAMS: list[Callable[[torch.Tensor], Any]] = [
    _views_of_views,
    _in_place,
    _overlapping,
    _expanded,
    _given_outputs,
    _foreach,
    _factories,
    _scatter,
    _rows,
    _empty,
    _no_dimensions,
    _other_types,
    _reductions,
    _products,
    _copies,
]


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__.strip("_"))
def test_writes_and_views(backend: Backend, program: Callable[[torch.Tensor], Any]) -> None:
    x = backend.normal(3, 4)
    backend.follows_eager(lambda: program(x), [x])
