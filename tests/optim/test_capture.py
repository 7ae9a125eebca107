"""An optimizer's step inside a graph: one native step, bit for bit what it does eagerly."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import ostinato as ost

from .support import GRID, options, ours, parameters, train, twins

SHAPES = ((5,), (33, 5), (20011,))


def _with_tensor_rate(name: str, index: int) -> dict[str, Any]:
    given = options(name, index)
    return {**given, "lr": torch.as_tensor(given["lr"], dtype=torch.float64)}


@pytest.mark.parametrize("numerics", ["exact", "fast"])
@pytest.mark.parametrize(("name", "index"), GRID)
def test_replays_are_eager_steps(name: str, index: int, numerics: str) -> None:
    params = parameters(torch.float32, SHAPES)
    others = twins(params, torch.float32)
    mine = ours(name, params, **_with_tensor_rate(name, index))
    eager = ours(name, others, **_with_tensor_rate(name, index))
    train((mine, params), (eager, others), steps=1)
    before = [p.detach().clone() for p in params]
    graph = ost.accelerator.Graph(numerics=numerics)
    with graph:
        mine.step()
    assert all(torch.equal(p, b) for p, b in zip(params, before, strict=True))
    stats = graph.stats()
    assert stats["steps"]["kernel"] == stats["nodes"] == 1
    for step in range(1, 4):
        torch.manual_seed(step)
        for p, q in zip(params, others, strict=True):
            q.grad = torch.randn(p.shape)
            p.grad.copy_(q.grad)
        for optimizer in (mine, eager):
            optimizer.param_groups[0]["lr"].mul_(0.5)
        graph.replay()
        eager.step()
        for p, q in zip(params, others, strict=True):
            assert torch.equal(p, q)
            for key, value in eager.state[q].items():
                assert torch.equal(mine.state[p][key], value)


def test_under_cond() -> None:
    p = torch.nn.Parameter(torch.ones(4))
    p.grad = torch.ones(4)
    optimizer = ours("SGD", [p], lr=1.0)
    go = torch.tensor(True)

    def update() -> torch.Tensor:
        optimizer.step()
        return torch.zeros(())

    graph = ost.accelerator.Graph()
    with graph:
        torch.cond(go, update, lambda: torch.zeros(()), ())
    graph.replay()
    go.fill_(False)
    graph.replay()
    assert torch.equal(p, torch.zeros(4))


def test_found_inf_decides_at_replay() -> None:
    p = torch.nn.Parameter(torch.ones(4))
    p.grad = torch.ones(4)
    optimizer = ours("Adam", [p], lr=0.1)
    optimizer.step()
    found = optimizer.found_inf = torch.zeros(())  # type: ignore[attr-defined]
    graph = ost.accelerator.Graph()
    with graph:
        optimizer.step()
    found.fill_(1)
    before = p.detach().clone()
    graph.replay()
    assert torch.equal(p, before)
    assert optimizer.state[p]["step"] == 1
    found.fill_(0)
    graph.replay()
    assert not torch.equal(p, before)
    assert optimizer.state[p]["step"] == 2
