"""Compares captures of a random program with eager: exact bit for bit, fast by what float64 gives."""

from __future__ import annotations

import contextlib

import torch

from ostinato.accelerator import Graph

from .random_oracle import Rounding, wrong
from .random_values import SCOPE, SEED, refill
from .support import identical

LOW_PRECISION_SLACK = 2.0**-6
ROUNDED_RUNS = 8


class World:
    """The tensors of one run of a program, and the program over them."""

    def __init__(self, graph, real=torch.float32, half=torch.bfloat16):
        scope = {**SCOPE, "real": real, "half": half}
        torch.manual_seed(SEED)
        with torch.no_grad():
            exec("\n".join(graph.setup), scope)
        body = "\n ".join([*graph.body, f"return [{', '.join(graph.outputs)}]"])
        exec(f"def program():\n {body}", scope)
        self.scope, self.program, self.between = scope, scope["program"], "\n".join(graph.between)
        names = [line.split(" = ")[0] for line in graph.setup]
        self.roots = []  # what holds memory of its own: views of others follow these
        for item in (scope[name] for name in names if name[0] != "v"):
            self.roots += [item] if isinstance(item, torch.Tensor) else [*item.parameters(), *item.buffers()]

    @torch.no_grad()
    def picture(self):
        copies = [torch.empty_strided(root.shape, root.stride(), dtype=root.dtype) for root in self.roots]
        return [copy.copy_(root) for copy, root in zip(copies, self.roots, strict=True)]

    @torch.no_grad()
    def load(self, picture):
        for root, content in zip(self.roots, picture, strict=True):
            if not torch.equal(root, content):  # a version counter tells of changes, and only of them
                root.copy_(content)

    @torch.no_grad()
    def change(self, seed):
        for index, root in enumerate(self.roots):
            refill(root, 1000 * seed + index)
        exec(self.between, self.scope)


class Capture:
    """One capture of the program in a world of its own; it must leave that world as it was."""

    def __init__(self, graph, numerics):
        self.world = World(graph)
        before = self.world.picture(), [root._version for root in self.world.roots]
        self.graph = Graph(numerics=numerics)
        with _mode(graph), self.graph:
            self.outputs = self.world.program()
        assert [r._version for r in self.world.roots] == before[1], f"{numerics}: the capture moved a version"
        assert all(map(identical, self.world.roots, before[0])), f"{numerics}: the capture changed an input"


def _mode(graph):
    return torch.inference_mode() if graph.mode == "inference_mode" else torch.no_grad()


@contextlib.contextmanager
def _threads_restored():
    threads = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def check(graph):
    """Raises AssertionError where a capture or a replay of this program does not do as eager does."""
    with _threads_restored():
        torch.set_num_threads(graph.threads[0])
        eager, truth = World(graph), World(graph, torch.float64, torch.float64)
        exact, fast = Capture(graph, "exact"), Capture(graph, "fast")
        for replay, threads in enumerate(graph.threads):
            torch.set_num_threads(threads)
            if replay:
                eager.change(replay)
            start = eager.picture()
            with _mode(graph):
                want = [*eager.program(), *eager.roots]
            for capture in (exact, fast):
                capture.world.load(start)
                capture.graph.replay()
            name = f"replay {replay}"
            _assert_exact([*exact.outputs, *exact.world.roots], want, f"{name}, exact")
            _assert_fast(
                [*fast.outputs, *fast.world.roots], want, truth, start, f"{name}, fast", _slack(graph)
            )


def _assert_exact(got, want, name):
    for index, (mine, its) in enumerate(zip(got, want, strict=True)):
        if not identical(mine, its):
            like = [(t.dtype, t.shape, t.stride()) for t in (mine, its)]
            assert like[0] == like[1], f"{name}: result {index} is {like[0]}, and eager's {like[1]}"
            bad = ~((mine == its) & (mine.signbit() == its.signbit()) | mine.isnan() & its.isnan())
            raise AssertionError(f"{name}: result {index} is not eager's {_first(bad, mine, its)}")


def _slack(graph):
    low = any("half" in line for line in graph.body)
    return {"slack": LOW_PRECISION_SLACK} if low else {}


def _run(world, start, rounding=None):
    world.load(start)
    with torch.no_grad(), rounding or contextlib.nullcontext():
        return [t.detach().clone() for t in (*world.program(), *world.roots)]


def _assert_fast(got, want, truth, start, name, slack):
    right = _run(truth, start)
    rounded = None
    for index, (mine, its, real) in enumerate(zip(got, want, right, strict=True)):
        like = [(t.dtype, t.shape, t.stride()) for t in (mine, its)]
        assert like[0] == like[1], f"{name}: result {index} is {like[0]}, and eager's {like[1]}"
        if not wrong(mine, its, real, **slack).any():
            continue
        rounded = rounded or [_run(truth, start, Rounding(seed)) for seed in range(ROUNDED_RUNS)]
        bad = wrong(mine, its, real, [r[index] for r in rounded], **slack)
        assert not bad.any(), f"{name}: result {index} is wrong {_first(bad, mine, its, real)}"


def _first(bad, *tensors):
    values = " and ".join(repr(t[bad][0].item()) for t in tensors)
    return f"in {int(bad.sum())} of {bad.numel()} elements, at first, beside eager's and float64's: {values}"
