"""Reports of users about fused optimizers elsewhere, each built anew."""

from __future__ import annotations

import copy
import io
from typing import Any

import pytest
import torch

from .support import CLASSES, ours, parameters, stock, train, twins

F = torch.nn.functional


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", CLASSES)
def test_whole_vectors_of_short_formats_move(name: str, dtype: torch.dtype) -> None:
    """pytorch 191763: equal elements stay equal, wherever in a vector or a rest they lie."""
    for count in (1, 4, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100):
        p = torch.nn.Parameter(torch.ones(count, dtype=dtype))
        p.grad = torch.ones(count, dtype=dtype)
        ours(name, [p], lr=0.25).step()
        assert p[0] != 1
        assert torch.equal(p, p[:1].expand(count))


@pytest.mark.parametrize("name", CLASSES)
def test_strides_of_dimensions_of_one(name: str) -> None:
    """pytorch 106951: a product of batches gives the gradient another stride where the size is one."""
    w = torch.nn.Parameter(torch.randn(2, 1, 100))
    v = torch.nn.Parameter(w.detach().double())
    x = torch.randn(10, 2, 100)
    mine, theirs = ours(name, [w]), stock(name, [v])
    for _ in range(3):
        for weight, optimizer in ((w, mine), (v, theirs)):
            optimizer.zero_grad()
            batch = x.to(weight.dtype).transpose(0, 1)
            torch.bmm(batch, weight.transpose(1, 2)).square().sum().backward()
            optimizer.step()
    torch.testing.assert_close(w, v, rtol=2e-6, atol=2e-6, check_dtype=False)


def _losses(name: str, dtype: torch.dtype, fused: bool, scaler: torch.amp.GradScaler | None) -> torch.Tensor:
    """Of a small network; with a scaler its gradients overflow at first, are unscaled and clipped."""
    torch.manual_seed(0)
    x, y = (
        torch.randn(32, 8, dtype=torch.float64).to(dtype),
        torch.randn(32, 1, dtype=torch.float64).to(dtype),
    )
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).to(dtype)
    params = list(net.parameters())
    optimizer = (ours if fused else stock)(name, params, lr=0.01)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = 8 * F.mse_loss(net(x), y)
        losses.append(loss.detach().double())
        if scaler is None:
            loss.backward()
            optimizer.step()
            continue
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(params, 0.5)
        scaler.step(optimizer)
        scaler.update()
    return torch.stack(losses)


@pytest.mark.parametrize("name", CLASSES)
def test_losses_are_those_of_the_plain_loop(name: str) -> None:
    """pytorch 90752: training with the fused form went elsewhere."""
    mine = _losses(name, torch.float32, fused=True, scaler=None)
    theirs = _losses(name, torch.float64, fused=False, scaler=None)
    assert theirs[-1] < theirs[0]
    torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CLASSES)
def test_losses_with_a_scaler_that_overflows(name: str) -> None:
    """pytorch 96755: under a scaler, with gradients unscaled before the step, the loss was worse."""
    scalers = [torch.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=10) for _ in range(2)]
    mine = _losses(name, torch.float32, fused=True, scaler=scalers[0])
    theirs = _losses(name, torch.float32, fused=False, scaler=scalers[1])
    assert mine[0] == mine[1]  # some steps were skipped
    assert mine[-1] < mine[0]
    assert scalers[0].get_scale() == scalers[1].get_scale()
    torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("found", [0.0, 1.0])
@pytest.mark.parametrize("name", CLASSES)
def test_found_inf_with_a_dimension(name: str, found: float) -> None:
    """pytorch 140514: a found_inf of shape (1,) did not fit a step count without dimensions."""
    params = parameters(torch.float32)
    mine = ours(name, params)
    train((mine, params), steps=1)
    mine.grad_scale, mine.found_inf = torch.ones(1), torch.tensor([found])  # type: ignore[attr-defined]
    before = [p.detach().clone() for p in params]
    train((mine, params), steps=1, start=1)
    changed = [not torch.equal(p, b) for p, b in zip(params, before, strict=True) if p.numel()]
    assert changed == [found == 0] * len(changed)
    for state in mine.state.values():
        if "step" in state:
            assert state["step"].shape == ()
            assert state["step"] == 1 + (found == 0)


@pytest.mark.parametrize("step", [2, 2.0, torch.tensor(2), torch.tensor([2.0]), torch.tensor(2.0).double()])
@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adagrad"])
def test_a_checkpoint_whose_counts_were_changed(name: str, step: Any) -> None:
    """pytorch 103256: step counts that came back of another kind or place."""
    params = parameters(torch.float32)
    others = twins(params, torch.float32)
    first, plain = ours(name, params, fused=True), ours(name, others)
    train((first, params), (plain, others), steps=2)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    loaded = torch.load(file, map_location="cpu")
    for state in loaded["state"].values():
        state["step"] = step
    again = ours(name, params, fused=True)
    again.load_state_dict(loaded)
    train((again, params), (plain, others), steps=2, start=2)
    assert all(torch.equal(p, q) for p, q in zip(params, others, strict=True))


@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adagrad"])
def test_step_counts_have_no_dimensions(name: str) -> None:
    """pytorch 108860: whoever gathers a sharded state takes a count with a dimension for a tensor."""
    params = parameters(torch.float32)
    mine = ours(name, params, fused=True)
    train((mine, params), steps=2)
    for state in mine.state_dict()["state"].values():
        assert state["step"].shape == ()


@pytest.mark.parametrize("name", CLASSES)
def test_one_call_for_all_parameters(name: str) -> None:
    """pytorch 121857: slower than the plain loop. Time is for the benchmark; this counts calls."""
    params = parameters(torch.float32, [(5,)] * 40)
    mine = ours(name, params)
    train((mine, params), steps=3)
    with torch.profiler.profile() as profile:
        mine.step()
    called = [e.key for e in profile.key_averages() if not e.key.startswith("Optimizer.")]
    assert called == ["ostinato::optimizer_run"]
    assert profile.key_averages()[-1].count == 1


@pytest.mark.parametrize("name", CLASSES)
def test_training_goes_on_from_an_older_torch(name: str) -> None:
    """apex 577: the state of torch's optimizer lacked an entry of the fused one's."""
    params = parameters(torch.float64)
    others = twins(params)
    theirs = stock(name, others)
    train((theirs, others), steps=2)
    saved = copy.deepcopy(theirs.state_dict())
    for group in saved["param_groups"]:
        for key in ("maximize", "foreach", "capturable", "differentiable", "fused", "decoupled_weight_decay"):
            if name != "AdamW" or key != "decoupled_weight_decay":
                group.pop(key, None)
    with torch.no_grad():
        for p, q in zip(params, others, strict=True):
            p.copy_(q)
    mine = ours(name, params)
    mine.load_state_dict(saved)
    train((mine, params), (theirs, others), steps=2, start=2)
    for p, q in zip(params, others, strict=True):
        torch.testing.assert_close(p, q, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CLASSES)
def test_parameters_of_several_dtypes(name: str) -> None:
    """Half and single precision side by side in one group, some without a gradient."""
    dtypes = (torch.float16, torch.float32, torch.bfloat16, torch.float64)
    params = [torch.nn.Parameter(torch.ones(33, dtype=d)) for d in dtypes for _ in range(2)]
    alone = [torch.nn.Parameter(p.detach().clone()) for p in params]
    together = ours(name, params)
    apart = [ours(name, [p]) for p in alone]
    for step in range(3):
        torch.manual_seed(step)
        for i, (p, q) in enumerate(zip(params, alone, strict=True)):
            grad = torch.randn(33).to(p.dtype)
            p.grad, q.grad = (None, None) if i == step else (grad, grad.clone())
        together.step()
        for optimizer in apart:
            optimizer.step()
    assert all(torch.equal(p, q) for p, q in zip(params, alone, strict=True))
