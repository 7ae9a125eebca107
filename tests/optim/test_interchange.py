"""State dicts both ways, copies, hooks, closures: what surrounds a step."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest
import torch

import ostinato as ost

from .support import CLASSES, GRID, options, ours, parameters, plain_options, stock, train, twins


def _equal(params: list[torch.nn.Parameter], others: list[torch.nn.Parameter]) -> bool:
    return all(torch.equal(p, q) for p, q in zip(params, others, strict=True))


@pytest.mark.parametrize(("name", "index"), GRID)
def test_state_goes_both_ways(name: str, index: int) -> None:
    params = parameters(torch.float64)
    others = twins(params)
    mine, theirs = (
        ours(name, params, **options(name, index)),
        stock(name, others, **plain_options(name, index)),
    )
    train((mine, params), (theirs, others), steps=2)
    from_theirs, from_mine = mine.state_dict(), theirs.state_dict()
    assert {k: set(v) for k, v in from_theirs["state"].items()} == {
        k: set(v) for k, v in from_mine["state"].items()
    }
    saved = io.BytesIO()
    torch.save([copy.deepcopy(from_theirs), copy.deepcopy(from_mine)], saved)
    saved.seek(0)
    mine_saved, theirs_saved = torch.load(saved, weights_only=True)
    for group in mine_saved["param_groups"]:
        group.update(capturable=False, lr=float(group["lr"]))
    mine.load_state_dict(theirs_saved)
    theirs.load_state_dict(mine_saved)
    train((mine, params), (theirs, others), steps=2, start=2)
    for p, q in zip(params, others, strict=True):
        torch.testing.assert_close(p, q, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CLASSES)
def test_flags_stay_the_users(name: str) -> None:
    params = parameters(torch.float32)
    mine, theirs = ours(name, params, foreach=False), ours(name, twins(params, torch.float32), fused=True)
    mine.load_state_dict(theirs.state_dict())
    assert mine.param_groups[0]["fused"] is None
    assert mine.param_groups[0]["foreach"] is False


@pytest.mark.parametrize("name", CLASSES)
def test_copies_go_on_as_the_original(name: str) -> None:
    params = parameters(torch.float32)
    mine = ours(name, params)
    train((mine, params), steps=2)
    copied = copy.deepcopy(mine)
    saved = io.BytesIO()
    torch.save(mine, saved)
    saved.seek(0)
    loaded = torch.load(saved, weights_only=False)
    pairs = [(o, o.param_groups[0]["params"]) for o in (mine, copied, loaded)]
    train(*pairs, steps=2, start=2)
    assert all(type(o) is getattr(ost.optim, name) and _equal(params, ps) for o, ps in pairs)


@pytest.mark.parametrize("name", CLASSES)
def test_groups_hooks_closure_and_scheduler(name: str) -> None:
    params = parameters(torch.float64)
    others = twins(params)
    mine, theirs = ours(name, params[:3]), stock(name, others[:3])
    seen: list[str] = []
    mine.register_step_pre_hook(lambda *_: seen.append("before"))
    mine.register_step_post_hook(lambda *_: seen.append("after"))
    for optimizer, ps in ((mine, params), (theirs, others)):
        optimizer.add_param_group({"params": ps[3:], "lr": 0.5, "weight_decay": 0.1})
    for optimizer, ps in ((mine, params), (theirs, others)):
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)

        def closure(ps: Any = ps, optimizer: Any = optimizer) -> torch.Tensor:
            assert torch.is_grad_enabled()
            optimizer.zero_grad()
            loss = sum((p.square().sum() for p in ps), torch.zeros((), dtype=torch.float64))
            loss.backward()
            return loss

        for _ in range(3):
            loss = optimizer.step(closure)
            scheduler.step()
        assert isinstance(loss, torch.Tensor)
    assert seen == ["before", "after"] * 3
    for p, q in zip(params, others, strict=True):
        torch.testing.assert_close(p, q, rtol=1e-12, atol=1e-12)


def test_what_changes_between_steps_is_seen() -> None:
    params = parameters(torch.float32, [(4,), (4,)])
    others = twins(params, torch.float32)
    mine, theirs = ours("Adam", params), stock("Adam", others)
    pairs = (mine, params), (theirs, others)
    train(*pairs, steps=2)
    for optimizer, ps in pairs:
        optimizer.state[ps[0]]["exp_avg"] = torch.full((4,), 3.0)
        optimizer.state[ps[1]]["step"] = torch.tensor(50.0)
        optimizer.param_groups[0].update(betas=(0.5, 0.6), weight_decay=0.3)
    train(*pairs, steps=2, start=2)
    for optimizer, ps in pairs:
        ps[0].data = torch.ones(6)
        optimizer.state[ps[0]] = {}
        optimizer.param_groups[0]["maximize"] = True
    train(*pairs, steps=2, start=4)
    for p, q in zip(params, others, strict=True):
        torch.testing.assert_close(p, q, rtol=2e-6, atol=2e-6)


def test_a_module_that_changes_its_dtype() -> None:
    module = torch.nn.Linear(3, 3)
    optimizer = ours("SGD", module.parameters(), lr=1.0)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        module.to(dtype)
        module.zero_grad()
        before = module.weight.detach().clone()
        module(torch.ones(1, 3, dtype=dtype)).sum().backward()
        optimizer.step()
        assert torch.equal(module.weight, before - 1)


@pytest.mark.parametrize("name", CLASSES)
def test_sparse_gradients_are_torchs_affair(name: str) -> None:
    def run(optimizer: torch.optim.Optimizer, table: torch.nn.Embedding) -> torch.Tensor:
        for _ in range(2):
            optimizer.zero_grad()
            table(torch.tensor([1, 3])).sum().backward()
            optimizer.step()
        return table.weight

    tables = [torch.nn.Embedding(6, 4, sparse=True) for _ in range(2)]
    tables[1].load_state_dict(tables[0].state_dict())
    makers = (ours, stock)
    if name in ("Adam", "AdamW"):
        for make, table in zip(makers, tables, strict=True):
            with pytest.raises(RuntimeError, match="sparse"):
                run(make(name, table.parameters()), table)
        return
    mine, theirs = (run(make(name, t.parameters()), t) for make, t in zip(makers, tables, strict=True))
    torch.testing.assert_close(mine, theirs, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", CLASSES)
def test_differentiable(name: str) -> None:
    start = torch.ones(3, requires_grad=True, dtype=torch.float64)
    p = start.clone()
    p.grad = torch.full_like(p, 2.0)
    optimizer = ours(name, [p], lr=0.5, differentiable=True)
    optimizer.step()
    p.sum().backward()
    assert start.grad is not None
    assert start.grad.abs().sum() > 0


@pytest.mark.parametrize("name", CLASSES)
def test_grad_scaler(name: str) -> None:
    p, q = (torch.nn.Parameter(torch.ones(5)) for _ in range(2))
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    mine, theirs = ours(name, [p]), stock(name, [q])
    for factor in (2.0, float("inf"), 3.0):
        for parameter in (p, q):
            parameter.grad = None
        scale = scaler.get_scale()
        scaler.scale(p.sum() * factor).backward()
        scaler.step(mine)
        scaler.update()
        assert scale > 0
        if factor != float("inf"):
            (q.sum() * factor).backward()
            theirs.step()
    torch.testing.assert_close(p, q, rtol=2e-6, atol=2e-6)


def test_version_counters_move() -> None:
    p = torch.nn.Parameter(torch.ones(3))
    loss = (p * p).sum()
    p.grad = torch.ones(3)
    ours("SGD", [p]).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
