"""What may change between two steps, and what must not be kept from one to the next."""

from __future__ import annotations

import weakref
from collections.abc import Callable

import pytest
import torch

from .support import CLASSES, give_gradients, ours, parameters, stock, train, twins

SHAPES = ((4, 6), (7,), (300,))


def _pair(
    name: str,
) -> tuple[torch.optim.Optimizer, list[torch.nn.Parameter], torch.optim.Optimizer, list[torch.nn.Parameter]]:
    """Ours and torch's after some steps with gradients that stay the same tensors."""
    params = parameters(torch.float32, SHAPES)
    others = twins(params, torch.float32)
    mine, theirs = ours(name, params), stock(name, others)
    give_gradients(0, params, others)
    for _ in range(4):
        _step(mine, theirs, params, others)
    return mine, params, theirs, others


def _step(
    mine: torch.optim.Optimizer,
    theirs: torch.optim.Optimizer,
    params: list[torch.nn.Parameter],
    others: list[torch.nn.Parameter],
) -> None:
    mine.step()
    theirs.step()
    for p, q in zip(params, others, strict=True):
        torch.testing.assert_close(p, q, rtol=2e-6, atol=2e-6)


def _other_memory(p: torch.nn.Parameter) -> None:
    p.data = p.data * 2


def _other_gradient_memory(p: torch.nn.Parameter) -> None:
    assert p.grad is not None
    p.grad.data = p.grad.data * -3


def _other_gradient(p: torch.nn.Parameter) -> None:
    p.grad = torch.ones_like(p)


def _gradient_in_place(p: torch.nn.Parameter) -> None:
    assert p.grad is not None
    p.grad.mul_(-5)


def _gradient_laid_otherwise(p: torch.nn.Parameter) -> None:
    p.grad = torch.arange(float(p.numel())).reshape(p.shape[::-1]).t() if p.dim() == 2 else torch.ones_like(p)


def _parameter_laid_otherwise(p: torch.nn.Parameter) -> None:
    if p.dim() == 2:
        p.data = p.data.t().contiguous().t()


def _no_gradient(p: torch.nn.Parameter) -> None:
    if p.dim() == 2:
        p.grad = None


CHANGES = [
    _other_memory,
    _other_gradient_memory,
    _other_gradient,
    _gradient_in_place,
    _gradient_laid_otherwise,
    _parameter_laid_otherwise,
    _no_gradient,
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", CLASSES)
def test_changes_are_seen(name: str, change: Callable[[torch.nn.Parameter], None]) -> None:
    mine, params, theirs, others = _pair(name)
    for _ in range(2):
        for p in (*params, *others):
            change(p)
        for _ in range(3):
            _step(mine, theirs, params, others)


@pytest.mark.parametrize("name", ["Adam", "Adagrad"])
def test_states_put_there_by_hand(name: str) -> None:
    mine, params, theirs, others = _pair(name)
    for optimizer, p in ((mine, params[0]), (theirs, others[0])):
        for key, value in optimizer.state[p].items():
            optimizer.state[p][key] = torch.tensor(50.0) if key == "step" else torch.full_like(value, 3.0)
    _step(mine, theirs, params, others)
    held, theirs_held = mine.state[params[1]], theirs.state[others[1]]
    _step(mine, theirs, params, others)
    held["step"], theirs_held["step"] = torch.tensor(7), torch.tensor(7.0)  # an int64 here
    for _ in range(3):
        _step(mine, theirs, params, others)


@pytest.mark.parametrize("name", CLASSES)
def test_gradients_are_not_kept(name: str) -> None:
    params = parameters(torch.float32, SHAPES)
    mine = ours(name, params)
    for step in range(3):
        train((mine, params), steps=1, start=step)
        grads = [weakref.ref(p.grad) for p in params]
        for p in params:
            p.grad = None
        assert not any(g() is not None for g in grads)


def test_gradients_that_stayed_are_dropped_by_zero_grad() -> None:
    mine, params, _, _ = _pair("AdamW")
    grads = [weakref.ref(p.grad) for p in params]
    mine.zero_grad()
    assert not any(g() is not None for g in grads)


def test_a_state_that_does_not_fit_is_named() -> None:
    p = torch.nn.Parameter(torch.ones(4))
    p.grad = torch.ones(4)
    optimizer = ours("Adam", [p])
    optimizer.step()
    optimizer.state[p]["exp_avg"] = torch.zeros(4, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="does not lie as its parameter"):
        optimizer.step()
