"""The memory of graphs: what they share, what they keep, and that all of it is given back."""

from __future__ import annotations

import gc
import weakref

import torch

import ostinato as ost
from ostinato.accelerator import Graph

from .support import capture


def test_a_dropped_graph_frees_everything():
    x = torch.ones(1000)
    graph = Graph()
    with graph:
        y = (x + 1).sin() * 2
    storages = [weakref.ref(t.untyped_storage()) for t in (x, y)]
    plan = weakref.ref(graph._impl._plan)  # which frees its native half with itself
    tensors = [weakref.ref(x), weakref.ref(y)]
    del x, y
    graph.replay()  # the graph itself keeps its input
    assert tensors[1]() is None
    graph.reset()
    del graph
    gc.collect()
    assert [r() for r in [*tensors, *storages, plan]] == [None] * 5


def test_pools_die_with_the_last_graph_that_uses_them():
    from ostinato.accelerator._backends import cpu

    gc.collect()
    before = len(cpu._arenas)
    pool = ost.accelerator.graph_pool_handle()
    first, _ = capture(lambda: torch.ones(4).sin() + 1, pool=pool)
    second, _ = capture(lambda: torch.ones(4).cos() + 1, pool=first.pool())
    assert second.pool() == pool
    assert len(cpu._arenas) == before + 1
    arena = weakref.ref(cpu._arenas[pool])
    first.reset()
    assert arena() is not None
    del second
    gc.collect()
    assert arena() is None
    assert len(cpu._arenas) == before


def test_graphs_of_one_pool_give_right_results_in_turn():
    """The second needs more memory than the first, which must not lose what it has."""
    pool = ost.accelerator.graph_pool_handle()
    assert pool != ost.accelerator.graph_pool_handle()
    graphs = []
    for size in (10, 1000, 100):
        x = torch.randn(size)
        graph = Graph(pool=pool)
        with graph:
            y = ((x * 2).sin() + 1).cos()
        graphs.append((graph, x, y))
    for _ in range(2):
        for graph, x, y in graphs:
            x.normal_()
            graph.replay()
            assert torch.equal(y, ((x * 2).sin() + 1).cos())


def test_pool_is_smaller_than_the_sum_of_intermediates():
    x = torch.randn(1024)
    graph = Graph()
    with graph:
        y = x
        for _ in range(20):
            y = y.sin().sort().values  # never in place, never fused
    assert 2 * 4096 <= graph.stats()["pool_bytes"] <= 10 * 4096
    assert graph.stats()["outputs"] == 1
