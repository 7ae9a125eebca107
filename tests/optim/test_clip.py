"""Clipping and zeroing within a step, against ``clip_grad_norm_`` before torch's own step."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import ostinato as ost

from .support import CLASSES, give_gradients, ours, parameters, stock, twins

TOLERANCE = {torch.float32: 2e-6, torch.float64: 1e-12, torch.complex64: 2e-6}


def _clipped(optimizer: torch.optim.Optimizer, max_norm: float) -> torch.Tensor:
    params = [p for group in optimizer.param_groups for p in group["params"]]
    norm = torch.nn.utils.clip_grad_norm_(params, max_norm)
    optimizer.step()
    return norm


@pytest.mark.parametrize("dtype", list(TOLERANCE), ids=str)
@pytest.mark.parametrize("max_norm", [0.5, 3.0, 1e9, float("inf")])
@pytest.mark.parametrize("name", CLASSES)
def test_as_torch_clips(name: str, max_norm: float, dtype: torch.dtype) -> None:
    params = parameters(dtype)
    others = twins(params, torch.complex128 if dtype.is_complex else torch.float64)
    mine, theirs = ours(name, params[:3]), stock(name, others[:3])
    for optimizer, ps in ((mine, params), (theirs, others)):
        optimizer.add_param_group({"params": ps[3:], "lr": 0.3})
    for step in range(3):
        give_gradients(step, params, others)
        before = [p.grad.clone() for p in params]
        mine.step(max_norm=max_norm)  # type: ignore[call-arg]
        norm = _clipped(theirs, max_norm)
        torch.testing.assert_close(mine.grad_norm.double(), norm, rtol=1e-6, atol=0)  # type: ignore[attr-defined]
        assert all(torch.equal(p.grad, b) for p, b in zip(params, before, strict=True))
        tolerance = TOLERANCE[dtype]
        for p, q in zip(params, others, strict=True):
            torch.testing.assert_close(p, q, rtol=tolerance, atol=tolerance, check_dtype=False)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_the_norm_is_that_of_float64(dtype: torch.dtype) -> None:
    params = parameters(dtype, [(200_003,), (3, 7), (), (0,)])
    large = 1e25 if dtype == torch.float32 else 100.0  # a square beyond float32, a sum beyond float16
    for p in params:
        p.grad = (torch.randn(p.shape) * large).to(dtype)
    optimizer = ours("SGD", params)
    optimizer.step(max_norm=1.0)  # type: ignore[call-arg]
    norm = torch.cat([p.grad.double().flatten() for p in params]).norm()  # type: ignore[union-attr]
    measured = optimizer.grad_norm  # type: ignore[attr-defined]
    assert measured.dtype is (torch.float64 if dtype is torch.float64 else torch.float32)
    torch.testing.assert_close(measured.double(), norm, rtol=1e-7, atol=0)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_norms_that_are_no_numbers(bad: float) -> None:
    p, q = (torch.nn.Parameter(torch.ones(40)) for _ in range(2))
    mine, theirs = ours("SGD", [p], lr=1.0), stock("SGD", [q], lr=1.0)
    for param in (p, q):
        param.grad = torch.ones(40)
        param.grad[7] = bad
    mine.step(max_norm=1.0)  # type: ignore[call-arg]
    norm = _clipped(theirs, 1.0)
    assert torch.equal(mine.grad_norm.isnan(), norm.isnan())  # type: ignore[attr-defined]
    assert torch.equal(p.isnan(), q.isnan())
    torch.testing.assert_close(p, q, equal_nan=True)


def test_threads_do_not_change_the_norm() -> None:
    before = torch.get_num_threads()
    (p,) = parameters(torch.float32, [(300_001,)])
    p.grad = torch.randn_like(p)
    optimizer, norms = ours("SGD", [p], lr=0.0), []
    try:
        for threads in (1, 2, 1):
            torch.set_num_threads(threads)
            optimizer.step(max_norm=1.0)  # type: ignore[call-arg]
            norms.append(optimizer.grad_norm)  # type: ignore[attr-defined]
    finally:
        torch.set_num_threads(before)
    assert torch.equal(norms[0], norms[1])
    assert torch.equal(norms[0], norms[2])


@pytest.mark.parametrize("name", CLASSES)
def test_gradients_that_no_kernel_takes_count(name: str) -> None:
    whole = torch.randn(20, 20)
    params = [torch.nn.Parameter(torch.randn(30, 4)), torch.nn.Parameter(whole[:, ::2])]
    others = [torch.nn.Parameter(p.detach().double().contiguous()) for p in params]
    mine, theirs = ours(name, params), stock(name, others)
    for step in range(3):
        give_gradients(step, params, others)
        params[0].grad = params[0].grad.t().contiguous().t()  # type: ignore[union-attr]
        mine.step(max_norm=1.0, zero_grad=True)  # type: ignore[call-arg]
        torch.testing.assert_close(mine.grad_norm.double(), _clipped(theirs, 1.0), rtol=1e-6, atol=0)  # type: ignore[attr-defined]
        assert all(not p.grad.any() for p in params)  # type: ignore[union-attr]
        for p, q in zip(params, others, strict=True):
            torch.testing.assert_close(p, q, rtol=2e-6, atol=2e-6, check_dtype=False)


@pytest.mark.parametrize("name", CLASSES)
def test_gradients_become_zero(name: str) -> None:
    params = parameters(torch.float32)
    others = twins(params, torch.float32)
    mine, plain = ours(name, params), ours(name, others)
    for step in range(3):
        give_gradients(step, params, others)
        mine.step(zero_grad=True)  # type: ignore[call-arg]
        plain.step()
        assert all(torch.equal(p.grad, torch.zeros_like(p)) for p in params)
        assert all(torch.equal(p, q) for p, q in zip(params, others, strict=True))
    assert mine.grad_norm is None  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", CLASSES)
def test_a_scaler_hands_over_scaled_gradients(name: str) -> None:
    p, q = (torch.nn.Parameter(torch.ones(50)) for _ in range(2))
    mine, theirs = ours(name, [p]), stock(name, [q])
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for factor in (2.0, float("inf"), 3.0):
        mine.zero_grad()
        theirs.zero_grad()
        scaler.scale((p * torch.arange(50.0)).sum() * factor).backward()
        scaler.step(mine, max_norm=1.0, zero_grad=True)
        scaler.update()
        assert not p.grad.any()  # type: ignore[union-attr]
        assert mine.grad_norm.isfinite() == (factor < 4)  # type: ignore[attr-defined]
        if factor < 4:
            ((q * torch.arange(50.0)).sum() * factor).backward()
            torch.testing.assert_close(mine.grad_norm, _clipped(theirs, 1.0))  # type: ignore[attr-defined]
        torch.testing.assert_close(p, q, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("numerics", ["exact", "fast"])
@pytest.mark.parametrize("name", CLASSES)
def test_in_a_graph(name: str, numerics: str) -> None:
    params = parameters(torch.float32, [(5,), (300, 7)])
    others = twins(params, torch.float32)
    extra: dict[str, Any] = {"momentum": 0.9} if name == "SGD" else {}
    mine, eager = ours(name, params, **extra), ours(name, others, **extra)
    give_gradients(0, params, others)
    for optimizer in (mine, eager):
        optimizer.step()
    graph = ost.accelerator.Graph(numerics=numerics)
    with graph:
        mine.step(max_norm=0.7, zero_grad=True)  # type: ignore[call-arg]
    for step in range(1, 4):
        give_gradients(step, others)
        for p, q in zip(params, others, strict=True):
            p.grad.copy_(q.grad)  # type: ignore[union-attr,arg-type]
        graph.replay()
        eager.step(max_norm=0.7)  # type: ignore[call-arg]
        assert torch.equal(mine.grad_norm, eager.grad_norm)  # type: ignore[attr-defined]
        for p, q in zip(params, others, strict=True):
            assert torch.equal(p, q)
            assert not p.grad.any()  # type: ignore[union-attr]
