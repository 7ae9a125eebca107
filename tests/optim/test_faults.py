"""Faults of torch's fused CPU optimizers that must be absent here."""

from __future__ import annotations

import pytest
import torch

from .support import CLASSES, ours, parameters, stock, train, twins


def _check(name: str, p: torch.nn.Parameter, grads: list[torch.Tensor], **kwargs: object) -> None:
    q = torch.nn.Parameter(p.detach().double().contiguous())
    mine, theirs = ours(name, [p], **kwargs), stock(name, [q], **kwargs)
    for grad in grads:
        p.grad, q.grad = grad, grad.double().contiguous()
        mine.step()
        theirs.step()
    torch.testing.assert_close(p, q, rtol=2e-6, atol=2e-6, check_dtype=False)


@pytest.mark.parametrize("name", CLASSES)
def test_gradient_in_another_layout(name: str) -> None:
    _check(name, torch.nn.Parameter(torch.randn(40, 30)), [torch.randn(30, 40).t() for _ in range(3)])
    image = torch.nn.Parameter(torch.randn(4, 3, 5, 6).to(memory_format=torch.channels_last))
    _check(name, image, [torch.randn(4, 3, 5, 6) for _ in range(3)])


@pytest.mark.parametrize("name", CLASSES)
def test_strided_view(name: str) -> None:
    whole = torch.randn(20, 20)
    outside = whole.clone()
    view = torch.nn.Parameter(whole[:, ::2])
    _check(name, view, [torch.randn(20, 10) for _ in range(3)])
    assert torch.equal(whole[:, 1::2], outside[:, 1::2])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_every_element_of_a_short_format_is_updated(dtype: torch.dtype) -> None:
    for count in range(1, 140):
        p = torch.nn.Parameter(torch.zeros(count, dtype=dtype))
        p.grad = torch.ones(count, dtype=dtype)
        ours("SGD", [p], lr=1.0).step()
        assert torch.equal(p, -torch.ones(count, dtype=dtype))


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("found", [1.0, 2.0])
def test_found_inf_leaves_everything_as_it_was(name: str, found: float) -> None:
    params = parameters(torch.float32)
    others = twins(params, torch.float32)
    extra = {"momentum": 0.9, "dampening": 0.5} if name == "SGD" else {}
    mine, theirs = ours(name, params, **extra), stock(name, others, **extra)
    for p in params:
        p.grad = torch.full_like(p, float("inf"))
    mine.grad_scale, mine.found_inf = torch.tensor(4.0), torch.tensor(found)  # type: ignore[attr-defined]
    mine.step()
    assert all(torch.equal(p, q) for p, q in zip(params, others, strict=True))
    mine.grad_scale = mine.found_inf = None  # type: ignore[attr-defined]
    train((mine, params), (theirs, others), steps=2)
    for p, q in zip(params, others, strict=True):
        torch.testing.assert_close(p, q, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", CLASSES)
def test_scaled_gradients(name: str) -> None:
    p, q = torch.nn.Parameter(torch.ones(50)), torch.nn.Parameter(torch.ones(50))
    mine, theirs = ours(name, [p]), stock(name, [q])
    grad = torch.randn(50)
    p.grad, q.grad = grad * 8, grad.clone()
    mine.grad_scale, mine.found_inf = torch.tensor(8.0), torch.tensor(0.0)  # type: ignore[attr-defined]
    mine.step()
    theirs.step()
    torch.testing.assert_close(p, q, rtol=2e-6, atol=2e-6)
    assert torch.equal(p.grad, grad)


def test_late_first_gradient() -> None:
    p, q = (torch.nn.Parameter(torch.ones(5)) for _ in range(2))
    optimizer = ours("SGD", [p, q], lr=1.0, momentum=0.5, dampening=0.5)
    p.grad = torch.ones(5)
    optimizer.step()
    q.grad = torch.ones(5)
    optimizer.step()
    assert torch.equal(p, torch.full((5,), -1.0))  # 1 - 1 - (0.5 + 0.5)
    assert torch.equal(q, torch.zeros(5))


@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adagrad"])
@pytest.mark.parametrize("start", [2**24 - 2, 2**24 + 1])
def test_steps_beyond_what_float32_counts(name: str, start: int) -> None:
    p, q = torch.nn.Parameter(torch.ones(9)), torch.nn.Parameter(torch.ones(9, dtype=torch.float64))
    extra = {"lr_decay": 1e-6} if name == "Adagrad" else {"betas": (0.9, 1 - 1e-8)}
    mine, theirs = ours(name, [p], **extra), stock(name, [q], **extra)
    train((mine, [p]), (theirs, [q]), steps=1)
    loaded = theirs.state_dict()
    loaded["state"][0]["step"] = torch.tensor(start)  # an int64
    mine.load_state_dict(loaded)
    theirs.state[q]["step"] = torch.tensor(float(start), dtype=torch.float64)
    train((mine, [p]), (theirs, [q]), steps=10)
    assert mine.state[p]["step"].item() == start + 10
    torch.testing.assert_close(p, q, rtol=2e-6, atol=2e-6, check_dtype=False)
