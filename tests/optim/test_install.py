"""``fused=True`` after ``ost.install()``."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch

import ostinato as ost

from .support import CLASSES, parameters, stock, train, twins


@pytest.fixture(autouse=True)
def _installed() -> Iterator[None]:
    ost.install()
    yield
    ost.uninstall()


@pytest.mark.parametrize("name", CLASSES)
def test_fused_reaches_ostinato(name: str) -> None:
    params = parameters(torch.float32)
    others = twins(params)
    extra: dict[str, Any] = {"momentum": 0.9} if name == "SGD" else {}
    fused = getattr(torch.optim, name)(params, fused=True, weight_decay=0.1, **extra)
    train((fused, params), (stock(name, others, weight_decay=0.1, **extra), others), steps=1)
    with torch.profiler.profile() as profile:
        train((fused, params), steps=1, start=1)
    names = {event.key for event in profile.key_averages()}
    operator = {"AdamW": "adam"}.get(name, name.lower())
    assert f"ostinato::{operator}_" in names


@pytest.mark.parametrize("name", CLASSES)
def test_numbers_and_layouts(name: str) -> None:
    p = torch.nn.Parameter(torch.randn(40, 30))
    q = torch.nn.Parameter(p.detach().double())
    mine, theirs = getattr(torch.optim, name)([p], fused=True), stock(name, [q])
    for _ in range(3):
        p.grad = torch.randn(30, 40).t()
        q.grad = p.grad.double().contiguous()
        mine.step()
        theirs.step()
    torch.testing.assert_close(p, q, rtol=2e-6, atol=2e-6, check_dtype=False)


def test_uninstalled() -> None:
    module = importlib.import_module("torch.optim.adam")  # torch.optim hides it
    installed = module._fused_adam
    ost.uninstall()
    assert module._fused_adam is installed.__wrapped__
