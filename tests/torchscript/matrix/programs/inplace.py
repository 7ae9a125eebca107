"""Operators that change a tensor in place, and what else sees it."""

import torch
import torch.nn.functional as F
from torch import Tensor

from ._case import case

X = torch.tensor([[1.0, -2.0], [3.0, 0.5]])


@case("in-place operators", (X,))
def arithmetic(x: Tensor) -> Tensor:
    y = x.clone()
    y += 1
    y -= x
    y *= 3
    y /= 2.0
    y **= 2
    y.add_(x, alpha=2).mul_(x).sub_(1).div_(4).pow_(2)
    return y


@case("in-place operators", (X,))
def seen_by_the_caller(x: Tensor) -> Tensor:
    x.neg_()
    x[0].zero_()
    return x


@case("in-place operators", (X,))
def seen_by_views(x: Tensor):
    y = x.clone()
    row, flat, turned = y[0], y.view(-1), y.t()
    row.add_(10)
    turned[1] = 5
    return y, row, flat, turned


@case("in-place operators", (X,))
def pointwise(x: Tensor):
    return (
        x.clone().relu_(), x.clone().abs_(), x.clone().sigmoid_(), x.clone().clamp_(0.0, 1.0),
        x.clone().exp_(), x.clone().tanh_(), x.abs().sqrt_(), x.clone().round_(), x.clone().fill_(2),
        F.relu(x.clone(), inplace=True), x.clone().clamp_(min=0.0), x.clone().masked_fill_(x > 0, -1.0),
        x.clone().sign_(), x.clone().floor_(),
    )  # fmt: skip


@case("in-place operators", (X, torch.tensor([[0, 1], [1, 0]])))
def scattered(x: Tensor, at: Tensor):
    y = torch.zeros_like(x)
    y.scatter_(1, at, x)
    y.scatter_add_(0, at, x)
    y.index_add_(0, torch.tensor([0, 1]), x)
    y.index_fill_(1, torch.tensor([1]), 3.0)
    y.index_copy_(0, torch.tensor([1]), x[:1])
    y.index_put_([torch.tensor([0])], torch.ones(2), accumulate=True)
    y.masked_scatter_(y > 2, x)
    y.put_(torch.tensor([3]), torch.tensor([8.0]))
    return y


@case("in-place operators", (X,))
def shapes(x: Tensor):
    y = x.clone()
    y.unsqueeze_(0)
    y.transpose_(1, 2)
    y.squeeze_(0)
    y.t_()
    return y, y.shape


@case("in-place operators", (X,))
def copies(x: Tensor):
    y = torch.empty(2, 2, dtype=torch.float64)
    y.copy_(x)
    z = y.clone()
    z.copy_(torch.tensor(1.0))
    z.fill_diagonal_(4.0)
    return y, z, z.lerp_(y, 0.25), y.addmm_(z, z), y.addcmul_(z, z, value=2.0)


@case("in-place operators", (X > 0,))
def of_truths(x: Tensor):
    y = x.clone()
    y |= torch.tensor([True, False])
    y &= x.logical_not()
    y ^= True
    y.logical_not_()
    return y


@case("in-place operators", (torch.tensor([5, 2]),))
def of_integers(x: Tensor):
    x += 1
    x <<= 2
    x >>= 1
    x %= 4
    x |= 8
    return x


@case("in-place operators", (X, 3))
def in_a_loop(x: Tensor, n: int) -> Tensor:
    out = torch.zeros(2)
    for k in range(n):
        out += x[k % 2]
        out.mul_(k + 1)
    return out


@case("out arguments", (X,))
def given_places(x: Tensor):
    y = torch.empty(2, 2)
    torch.add(x, x, out=y)
    z = torch.empty(2, 2)
    torch.mm(x, y, out=z)
    return y, z
