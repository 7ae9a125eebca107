"""What the collector frees while somebody's program is traced or captured leaves no mark in it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import ostinato as ost


def _graph() -> object:
    x = torch.ones(3)
    graph = ost.accelerator.Graph()
    with graph:
        x + 1
    graph.replay()
    return graph


def _optimizer() -> object:
    weights = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
    optimizer = ost.optim.AdamW(weights)
    for _ in range(2):
        for weight in weights:
            weight.grad = torch.ones(3)
        optimizer.step()
    return optimizer


def _make_fx(f: Callable[[torch.Tensor], torch.Tensor], **options: object) -> list[str]:
    traced = make_fx(f, **options)(torch.ones(2))
    return [str(node.target) for node in traced.graph.nodes]


def _export(f: Callable[[torch.Tensor], torch.Tensor]) -> list[str]:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return f(x)

    program = torch.export.export(Module(), (torch.ones(2),), strict=False)
    return [str(node.target) for node in program.graph.nodes]


def _capture(f: Callable[[torch.Tensor], torch.Tensor]) -> list[str]:
    x = torch.ones(2)
    graph = ost.accelerator.Graph()
    with graph:
        f(x)
    return [node.op for node in graph.nodes]


TRACERS: dict[str, Callable[[Callable[[torch.Tensor], torch.Tensor]], list[str]]] = {
    "make_fx": _make_fx,
    "pre_dispatch": lambda f: _make_fx(f, pre_dispatch=True),
    "fake": lambda f: _make_fx(f, tracing_mode="fake"),
    "export": _export,
    "capture": _capture,
}


@pytest.mark.parametrize("tracer", TRACERS)
@pytest.mark.parametrize("make", [_graph, _optimizer])
def test_freed_in_the_middle(
    make: Callable[[], object], tracer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = [make()]
    problems: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", problems.append)

    def f(x: torch.Tensor) -> torch.Tensor:
        held.clear()
        gc.collect()
        return x * 2

    targets = TRACERS[tracer](f)
    assert not held
    assert any("mul" in target for target in targets)
    assert not [target for target in targets if "ostinato" in target]
    assert problems == []
