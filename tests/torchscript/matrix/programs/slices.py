"""Subscripts of tensors, read and assigned."""

import torch
from torch import Tensor

from ._case import case

X = torch.arange(24.0).reshape(2, 3, 4)


@case("subscripts", (X,))
def whole_numbers(x: Tensor):
    return x[0], x[-1], x[0, 1], x[0, 1, 2], x[:, 1], x[..., 0], x[0][1][2], x[1, ..., -1]


@case("subscripts", (X, 1, 3))
def ranges(x: Tensor, a: int, b: int):
    return x[0:1], x[:, a:b], x[..., a:], x[:, :, :-1], x[:, ::2], x[-1:], x[:, a : b + 5], x[:, 2:1]


@case("subscripts", (X,))
def new_dimensions(x: Tensor):
    return x[None], x[:, None], x[..., None], x[0, None, :, 1], x[None, :, None, 0].shape


@case("subscripts", (X, torch.tensor([1, 0]), torch.tensor([2, 2])))
def by_tensors(x: Tensor, a: Tensor, b: Tensor):
    return x[a], x[:, b], x[a, b], x[a, :, b], x[0, a], x[a][:, 1:], x[[0, 1]]


@case("subscripts", (X,))
def by_masks(x: Tensor):
    return x[x > 5], x[:, x[0, :, 0] > 3], x[x.sum((1, 2)) > 100], x[torch.ones_like(x, dtype=torch.bool)]


@case("subscripts", (X, 2))
def by_variables(x: Tensor, n: int):
    at = x.size(1) - 1
    return x[0, at], x[:, at - 1 : at], x[..., n], x[n - 1], x[:, : x.size(-1) // n]


@case("assigned subscripts", (X,))
def of_numbers(x: Tensor) -> Tensor:
    y = x.clone()
    y[0] = 1
    y[:, 1] = 2.5
    y[1, 2, 3] = -1
    y[..., 0] = 7
    y[:, :, 1:3] = 0
    return y


@case("assigned subscripts", (X,))
def of_tensors(x: Tensor) -> Tensor:
    y = torch.zeros_like(x)
    y[0] = x[1]
    y[1, :, ::2] = x[0, :, :2]
    y[:, 2] = torch.arange(4.0)
    y[1, 0, 0] = torch.tensor(9.0)
    return y


@case("assigned subscripts", (X,))
def of_other_types(x: Tensor) -> Tensor:
    y = torch.zeros([4], dtype=torch.int64)
    y[0] = 3
    y[1:3] = x[0, 0, 1:3].long()
    y[3] = torch.tensor(2)
    return y


@case("assigned subscripts", (X, torch.tensor([1, 0])))
def at_tensors(x: Tensor, at: Tensor) -> Tensor:
    y = x.clone()
    y[at, 0] = 5
    y[:, at] = y[:, at] * 2
    y[0, :, at] = torch.ones(3, 2)
    return y


@case("assigned subscripts", (X,))
def at_masks(x: Tensor) -> Tensor:
    y = x.clone()
    y[y > 10] = 0
    y[y < 3] = torch.tensor(-1.0)
    y[0][y[0] == 5] += 100
    return y


@case("assigned subscripts", (X,))
def augmented(x: Tensor) -> Tensor:
    y = x.clone()
    y[0] += 1
    y[:, 1] *= 2
    y[..., -1] -= y[..., 0]
    y[1, 1:] /= 4
    y[0, 0, 0] += y[1, 1, 1]
    return y


@case("assigned subscripts", ([1, 2, 3], {"a": [1]}))
def of_containers(values: list[int], d: dict[str, list[int]]):
    values[0] += 5
    values[-1] = values[0]
    d["b"] = [7]
    d["a"][0] = 9
    d["a"] += [1]
    return values, d


@case("assigned subscripts", (X,))
def in_a_loop(x: Tensor) -> Tensor:
    out = torch.zeros(x.size(0), x.size(1))
    for a in range(x.size(0)):
        for b in range(x.size(1)):
            out[a, b] = x[a, b].max() - x[a, b, 0] * b
    return out


@case("subscripts", (torch.tensor(5.0), torch.zeros(0, 3)))
def of_the_smallest(x: Tensor, y: Tensor):
    return x[None], y[:0], y[:, 1], y.shape[0]
