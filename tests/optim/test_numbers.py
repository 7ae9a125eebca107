"""What the optimizers compute, against torch's plain loop in float64."""

from __future__ import annotations

import pytest
import torch

from .support import (
    CLASSES,
    GRID,
    give_gradients,
    options,
    ours,
    parameters,
    plain_options,
    stock,
    train,
    twins,
)

TOLERANCE = {
    torch.float32: (2e-6, 2e-6),
    torch.float64: (1e-12, 1e-12),
    torch.bfloat16: (4e-2, 4e-2),
    torch.float16: (4e-3, 4e-3),
    torch.complex64: (2e-6, 2e-6),
    torch.complex128: (1e-12, 1e-12),
}


@pytest.mark.parametrize("dtype", list(TOLERANCE), ids=str)
@pytest.mark.parametrize(("name", "index"), GRID)
def test_grid(name: str, index: int, dtype: torch.dtype) -> None:
    params = parameters(dtype)
    wide = twins(params, torch.complex128 if dtype.is_complex else torch.float64)
    mine, reference = (
        ours(name, params, **options(name, index)),
        stock(name, wide, **plain_options(name, index)),
    )
    train((mine, params), (reference, wide))
    rtol, atol = TOLERANCE[dtype]
    for p, q in zip(params, wide, strict=True):
        torch.testing.assert_close(p, q, rtol=rtol, atol=atol, check_dtype=False)
        for key, value in reference.state[q].items():
            if value is not None:
                torch.testing.assert_close(mine.state[p][key], value, rtol=rtol, atol=atol, check_dtype=False)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_short_formats_round_once(name: str, dtype: torch.dtype) -> None:
    params = parameters(dtype)
    wide = twins(params)
    train((ours(name, params), params), (stock(name, wide), wide), steps=1)
    for p, q in zip(params, wide, strict=True):
        ulp = torch.finfo(dtype).eps * q.abs() + torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
        # Half an ulp for the result, half of one for the square of the gradient, which is stored first.
        assert (p.double() - q).abs().le(0.51 * ulp + 1e-6).all()


@pytest.mark.parametrize("name", CLASSES)
def test_special_values_are_treated_as_torch_does(name: str) -> None:
    values = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 1e-42, 1e38, 1.0] * 5)
    pairs = [(p, g) for p in values[:7] for g in values[:7]]
    start, grad = (torch.stack(x) for x in zip(*pairs, strict=True))
    p, q = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    mine, theirs = ours(name, [p], weight_decay=0.1), stock(name, [q], weight_decay=0.1)
    for _ in range(3):
        p.grad, q.grad = grad.clone(), grad.clone()
        mine.step()
        theirs.step()
        torch.testing.assert_close(p, q, rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CLASSES)
def test_threads_change_nothing(name: str, threads: int) -> None:
    before = torch.get_num_threads()
    params = parameters(torch.float32, [(200_003,), (5,), (70_001,)])
    others = twins(params, torch.float32)
    first, second = ours(name, params), ours(name, others)
    try:
        for step in range(2):
            give_gradients(step, params, others)
            torch.set_num_threads(threads)
            first.step()
            torch.set_num_threads(1)
            second.step()
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(p, q) for p, q in zip(params, others, strict=True))
