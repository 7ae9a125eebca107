"""The memory of graphs: what they share, what they keep, and that all of it is given back."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import ostinato as ost
from ostinato.accelerator import Graph

from .support import capture, tensors


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


class _Lives(TorchDispatchMode):
    """From outside the recorder: which memory each operator makes and touches, and what dies unseen."""

    def __init__(self):
        super().__init__()
        self.storages, self.spans, self.time = {}, {}, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        self.time += 1
        before = {self._key(t) for t in tensors([args, kwargs])}
        for tensor in tensors([args, kwargs, out]):
            key = self._key(tensor)
            if key in self.spans:
                self.spans[key][1] = self.time
            elif key not in before:
                self.spans[key] = [self.time, self.time]
                self.storages[key] = tensor.untyped_storage()
        return out

    @staticmethod
    def _key(tensor):
        return tensor.untyped_storage()._cdata

    def largest_set(self, kept):
        """Bytes of the most that is alive at a time, less what the caller keeps."""
        kept = {self._key(t) for t in tensors(kept)}
        inside = {k: -(-s.nbytes() // 64) * 64 for k, s in self.storages.items() if k not in kept}
        now = range(1, self.time + 1)
        return max(
            sum(n for k, n in inside.items() if self.spans[k][0] <= t <= self.spans[k][1]) for t in now
        )


def _block():
    layer = torch.nn.TransformerEncoderLayer(64, 4, 256, batch_first=True, norm_first=True, activation="gelu")
    return layer.eval(), torch.randn(1, 32, 64)


def _images():
    sizes = ((3, 8), (8, 16), (16, 32))
    parts = [
        p
        for i, o in sizes
        for p in (torch.nn.Conv2d(i, o, 3, 2, 1), torch.nn.BatchNorm2d(o), torch.nn.ReLU())
    ]
    return torch.nn.Sequential(*parts, torch.nn.Flatten(), torch.nn.Linear(512, 10)).eval(), torch.randn(
        1, 3, 32, 32
    )


def _layers():
    parts = [p for _ in range(4) for p in (torch.nn.Linear(256, 256), torch.nn.ReLU())]
    return torch.nn.Sequential(*parts), torch.randn(1, 256)


class _Pointwise(torch.nn.Module):
    def forward(self, x):
        for _ in range(10):
            x = torch.tanh(x * 1.01 + 0.1) * torch.sigmoid(x)
        return x


class _Unequal(torch.nn.Module):
    """Sizes that a plan by lifetime has to fit into each other."""

    def forward(self, x):
        wide = torch.cat([x, x.sin(), x.cos()])
        short = wide[: x.shape[0] // 3].exp()
        late = torch.cat([wide.sort().values, short])
        return late.cumsum(0).sum() + short.cumsum(0)[:1]


NETS = {
    "transformer block": _block,
    "convolutions": _images,
    "linear layers": _layers,
    "recurrent": lambda: (torch.nn.LSTM(47, 64), torch.randn(3, 1, 47)),
    "pointwise": lambda: (_Pointwise(), torch.randn(1000)),
    "unequal sizes": lambda: (_Unequal(), torch.randn(3000)),
}


@pytest.mark.parametrize("numerics", ["exact", "fast"])
@pytest.mark.parametrize("name", NETS)
@torch.no_grad()
def test_the_pool_is_hardly_larger_than_what_must_live_at_a_time(name, numerics, monkeypatch):
    # One operator for the whole block has no intermediates to count.
    monkeypatch.setattr(torch.backends.mha, "_is_fastpath_enabled", False)
    module, x = NETS[name]()
    with _Lives() as lives:
        out = module(x)
    graph, _ = capture(lambda: module(x), numerics=numerics)
    assert graph.stats()["pool_bytes"] <= 1.1 * lives.largest_set(out)


def test_graphs_of_one_pool_lie_in_one_memory():
    x, pool = torch.randn(1 << 18), ost.accelerator.graph_pool_handle()
    graphs = [capture(lambda: (x.sort().values.cumsum(0) * 2).sum(), pool=pool)[0] for _ in range(6)]
    assert len({graph._impl._arena.memory.data_ptr() for graph in graphs}) == 1
    assert graphs[0]._impl._arena.memory.nbytes() == graphs[0].stats()["pool_bytes"]


def test_many_shapes_neither_pile_up_nor_are_captured_twice():
    captures = []

    def function(x):
        captures.append(x.shape[0])
        return x.sin() + 1

    call = ost.accelerator.graphed(function, max_graphs=3)
    for sizes, new in (((1, 2, 3), 3), ((3, 1, 2, 1), 0), ((4,), 1), ((2, 1, 4), 0), ((3,), 1)):
        captures.clear()
        for size in sizes:
            x = torch.randn(size)
            torch.testing.assert_close(call(x), x.sin() + 1)
        assert len(set(captures)) == new
    assert call.graphs == 3
