"""``master_weights``: short formats that train as float32 does."""

from __future__ import annotations

import copy

import pytest
import torch

import ostinato as ost
from ostinato._errors import OstinatoError

from .support import CLASSES, give_gradients, ours, parameters, stock, train, twins

SHAPES = ((33, 5), (7,), (1003,))
DTYPES = [torch.bfloat16, torch.float16]
RATES = {
    "SGD": 1e-4,
    "Adam": 1e-4,
    "AdamW": 1e-4,
    "Adagrad": 3e-4,
}  # steps below half a unit in the last place


def _equal(params: list[torch.nn.Parameter], others: list[torch.nn.Parameter]) -> bool:
    return all(torch.equal(p, q) for p, q in zip(params, others, strict=True))


def _extra(name: str) -> dict[str, float]:
    return {"momentum": 0.9} if name == "SGD" else {}


def _with_masters(name: str) -> tuple[torch.optim.Optimizer, list[torch.nn.Parameter]]:
    """An optimizer and its bfloat16 parameters, the same at every call."""
    params = parameters(torch.bfloat16, SHAPES)
    return ours(name, params, master_weights=True, **_extra(name)), params


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", CLASSES)
def test_small_steps_add_up(name: str, dtype: torch.dtype) -> None:
    rate = RATES[name] if dtype is torch.bfloat16 else RATES[name] / 8
    params = parameters(dtype, [(500,)])
    with torch.no_grad():
        params[0].clamp_(min=1.0)
    plain, wide = twins(params, dtype), twins(params)
    start = params[0].detach().double()
    made = [
        ours(name, params, lr=rate, master_weights=True),
        ours(name, plain, lr=rate),
        stock(name, wide, lr=rate),
    ]
    for _ in range(300):
        for p in (*params, *plain, *wide):
            p.grad = torch.ones_like(p)
        for optimizer in made:
            optimizer.step()
    q = wide[0]
    assert (q - start).abs().min() > torch.finfo(dtype).eps  # the reference has moved by a unit at least
    assert torch.equal(plain[0].double(), start)  # and plain rounding not at all
    torch.testing.assert_close(made[0].state[params[0]]["master"].double(), q, rtol=4e-5, atol=0)
    assert (params[0].double() - q).abs().le(torch.finfo(dtype).eps * q.abs() / 2 * 1.01).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", CLASSES)
def test_all_of_the_optimizer_is_float32(name: str, dtype: torch.dtype) -> None:
    """Also with clipping, momentum and several groups; no state is rounded to the short format."""
    extra = _extra(name)
    params = parameters(dtype, SHAPES)
    wide = twins(params)
    mine = ours(name, params[:1], master_weights=True, **extra)
    reference = stock(name, wide[:1], **extra)
    mine.add_param_group({"params": params[1:], "lr": 0.02})
    reference.add_param_group({"params": wide[1:], "lr": 0.02})
    for step in range(5):
        give_gradients(step, params, wide)
        mine.step(max_norm=1.0, zero_grad=True)  # type: ignore[call-arg]
        torch.nn.utils.clip_grad_norm_(wide, 1.0)
        reference.step()
        assert all(not p.grad.any() for p in params)  # type: ignore[union-attr]
    for p, q in zip(params, wide, strict=True):
        state = mine.state[p]
        assert all(v.dtype is torch.float32 for k, v in state.items() if k != "step")
        torch.testing.assert_close(state["master"].double(), q, rtol=4e-6, atol=4e-6)
        assert torch.equal(state["master"].to(dtype), p)


@pytest.mark.parametrize("name", CLASSES)
def test_state_survives(name: str) -> None:
    (mine, params), (theirs, others) = _with_masters(name), _with_masters(name)
    train((mine, params), (theirs, others), steps=3)
    again = ours(name, others, master_weights=True, **_extra(name))
    again.load_state_dict(copy.deepcopy(mine.state_dict()))
    copied = copy.deepcopy(mine)
    ps = copied.param_groups[0]["params"]
    train((mine, params), (again, others), (copied, ps), steps=3, start=3)
    assert _equal(params, others)
    assert _equal(params, ps)
    for p, q in zip(params, others, strict=True):
        assert torch.equal(mine.state[p]["master"], again.state[q]["master"])


@pytest.mark.parametrize("name", CLASSES)
def test_state_goes_both_ways(name: str) -> None:
    params = parameters(torch.bfloat16, SHAPES)
    mine = ours(name, params, master_weights=True)
    theirs = stock(name, twins(params, torch.bfloat16))
    train((theirs, theirs.param_groups[0]["params"]), steps=2)
    mine.load_state_dict(copy.deepcopy(theirs.state_dict()))
    train((mine, params), steps=2)
    assert all(torch.equal(mine.state[p]["master"].bfloat16(), p) for p in params)
    theirs.load_state_dict(copy.deepcopy(mine.state_dict()))
    train((theirs, theirs.param_groups[0]["params"]), steps=1)


def test_weights_that_others_write_count() -> None:
    p = torch.nn.Parameter(torch.ones(4, dtype=torch.bfloat16))
    mine = ours("SGD", [p], lr=1e-4, master_weights=True)
    changes = [
        (1.0, lambda _: None),
        (3.0, p.detach().fill_),
        (5.0, lambda x: setattr(p, "data", p.data * 0 + x)),
    ]
    for value, change in changes:
        change(value)
        p.grad = torch.ones_like(p)
        mine.step()
        torch.testing.assert_close(mine.state[p]["master"], torch.full((4,), value - 1e-4), rtol=1e-7, atol=0)


def test_other_dtypes_are_as_ever() -> None:
    params = parameters(torch.float32, SHAPES)
    others = twins(params, torch.float32)
    mine, theirs = ours("AdamW", params, master_weights=True), ours("AdamW", others)
    train((mine, params), (theirs, others))
    assert _equal(params, others)
    assert all("master" not in state for state in mine.state.values())


def test_what_has_no_master_is_refused() -> None:
    p = torch.nn.Parameter(torch.ones(4, 4, dtype=torch.bfloat16)[:, ::2])
    p.grad = torch.ones_like(p)
    with pytest.raises(OstinatoError, match="master_weights"):
        ours("SGD", [p], master_weights=True).step()


@pytest.mark.parametrize("name", CLASSES)
def test_in_a_graph(name: str) -> None:
    (mine, params), (eager, others) = _with_masters(name), _with_masters(name)
    train((mine, params), (eager, others), steps=1)
    graph = ost.accelerator.Graph()
    with graph:
        mine.step()
    for step in range(1, 4):
        give_gradients(step, others)
        for p, q in zip(params, others, strict=True):
            p.grad.copy_(q.grad)  # type: ignore[union-attr,arg-type]
        graph.replay()
        eager.step()
        assert _equal(params, others)
