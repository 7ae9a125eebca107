"""The list operators of optimizers and clipping: the same bits as eager, and no Python step."""

from __future__ import annotations

import pytest
import torch

import ostinato as ost

aten = torch.ops.aten


def tensors(count=3):
    made = [
        torch.rand(5, 7) + 0.5,
        (torch.rand(6, 4) + 0.5).t(),
        torch.rand(()) + 0.5,
        torch.rand(9, 2)[:, 0],
    ]
    return made[:count]


LISTS = {
    "add_.Scalar": lambda x: aten._foreach_add_.Scalar(x, 1),
    "add_.List": lambda x: aten._foreach_add_.List(x, tensors(len(x)), alpha=0.3),
    "add_.ScalarList": lambda x: aten._foreach_add_.ScalarList(x, [0.5, 1.5, 2.5, 3.5][: len(x)]),
    "add_.Tensor": lambda x: aten._foreach_add_.Tensor(x, torch.tensor(0.25)),
    "mul_.Scalar": lambda x: aten._foreach_mul_.Scalar(x, 0.9),
    "mul_.Tensor": lambda x: aten._foreach_mul_.Tensor(x, torch.tensor(0.9)),
    "sub.List": lambda x: aten._foreach_sub.List(x, tensors(len(x))),
    "div.Scalar": lambda x: aten._foreach_div.Scalar(x, 3),
    "addcmul_.Scalar": lambda x: aten._foreach_addcmul_.Scalar(x, tensors(len(x)), tensors(len(x)), 0.1),
    "addcdiv_.ScalarList": lambda x: aten._foreach_addcdiv_.ScalarList(
        x, tensors(len(x)), tensors(len(x)), [0.1, 0.2, 0.3, 0.4][: len(x)]
    ),
    "lerp_.Scalar": lambda x: aten._foreach_lerp_.Scalar(x, tensors(len(x)), 0.1),
    "sqrt": lambda x: aten._foreach_sqrt(x),
    "neg_": lambda x: aten._foreach_neg_(x),
    "zero_": lambda x: aten._foreach_zero_(x),
    "copy_": lambda x: aten._foreach_copy_(x, tensors(len(x))),
    "pow.Scalar": lambda x: aten._foreach_pow.Scalar(x, 2.5),
    "clamp_min_.Scalar": lambda x: aten._foreach_clamp_min_.Scalar(x, 0.8),
    "maximum.List": lambda x: aten._foreach_maximum.List(x, tensors(len(x))),
    "norm": lambda x: aten._foreach_norm.Scalar(x, 2),
    "norm 1": lambda x: aten._foreach_norm.Scalar(x, 1),
}


@pytest.mark.parametrize("numerics", ["exact", "fast"])
@pytest.mark.parametrize("name", LISTS)
def test_a_list_operator_gives_the_bits_of_eager(name, numerics):
    torch.manual_seed(0)
    x = tensors(4)
    torch.manual_seed(0)
    eager = tensors(4)
    torch.manual_seed(1)
    want = LISTS[name](eager)
    torch.manual_seed(1)
    graph = ost.accelerator.Graph(numerics=numerics)
    with graph:
        out = LISTS[name](x)
    torch.manual_seed(1)
    graph.replay()
    for got, wanted in zip([*x, *(out or ())], [*eager, *(want or ())], strict=True):
        assert got.stride() == wanted.stride()
        if numerics == "exact":
            assert torch.equal(got, wanted), name
        else:
            torch.testing.assert_close(got, wanted)


def model_and_step(**options):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    x = torch.randn(5, 8)

    def step():
        optimizer.zero_grad()
        model(x).square().mean().backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1, **options)
        optimizer.step()
        return norm

    return model, step


@pytest.mark.parametrize("foreach", [True, False, None])
def test_a_step_with_clipping_and_fused_adamw_is_native(foreach):
    model, step = model_and_step(foreach=foreach)
    other, eager = model_and_step(foreach=foreach)
    step(), eager()
    graph = ost.accelerator.Graph()
    with graph:
        norm = step()
    for _ in range(5):
        graph.replay()
        want = eager()
    assert torch.equal(norm, want)
    for p, q in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(p, q)
    assert graph.stats()["python_operators"] == {}


@pytest.mark.parametrize("shape", [(), (1,), (1000,), (37, 53), (3, 1, 5)])
def test_a_norm_of_all_elements_gives_the_bits_of_eager(shape):
    x = torch.randn(shape)
    graph = ost.accelerator.Graph()
    with graph:
        out = torch.linalg.vector_norm(x), x.double().norm(), torch.linalg.vector_norm(x, dtype=torch.float64)
    x.copy_(torch.randn(shape))
    graph.replay()
    want = torch.linalg.vector_norm(x), x.double().norm(), torch.linalg.vector_norm(x, dtype=torch.float64)
    assert all(map(torch.equal, out, want))
    assert graph.stats()["python_operators"] == {}
