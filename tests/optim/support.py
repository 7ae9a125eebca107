"""Networks without layers: parameters of awkward shapes, and the same for torch's own optimizers."""

from __future__ import annotations

import copy
from typing import Any

import torch

import ostinato as ost

CLASSES = ("SGD", "Adam", "AdamW", "Adagrad")
SHAPES = ((), (1,), (0,), (7,), (33, 5), (64, 64), (3, 4, 5), (20011,))

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "SGD": [
        {"lr": 0.1},
        {"lr": 0.1, "weight_decay": 0.05, "maximize": True},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.4, "weight_decay": 0.05},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True},
        {"lr": torch.tensor(0.1), "momentum": 0.9},
    ],
    "Adam": [
        {"lr": 0.01},
        {"lr": 0.01, "weight_decay": 0.1, "maximize": True},
        {"lr": 0.01, "amsgrad": True, "betas": (0.8, 0.9), "eps": 1e-5},
        {"lr": 0.01, "betas": (0.0, 0.9)},
        {"lr": 0.01, "betas": (0.4, 0.9), "capturable": True},
        {"lr": torch.tensor(0.01), "amsgrad": True, "weight_decay": 0.1},
        {"lr": 0.01, "decoupled_weight_decay": True, "weight_decay": 0.1},
    ],
    "AdamW": [{"lr": 0.01}, {"lr": 0.01, "amsgrad": True, "maximize": True, "weight_decay": 0.3}],
    "Adagrad": [
        {"lr": 0.1},
        {"lr": 0.1, "lr_decay": 0.3, "weight_decay": 0.1, "maximize": True},
        {"lr": torch.tensor(0.1), "initial_accumulator_value": 0.5, "eps": 1e-4},
    ],
}
GRID = [(name, i) for name in CLASSES for i in range(len(OPTIONS[name]))]


def options(name: str, index: int) -> dict[str, Any]:
    return copy.deepcopy(OPTIONS[name][index])


def plain_options(name: str, index: int) -> dict[str, Any]:
    """For torch on the CPU, whose capturable is for other devices; a float is exact where a tensor is not."""
    given = {k: v for k, v in options(name, index).items() if k != "capturable"}
    return {k: float(v) if isinstance(v, torch.Tensor) else v for k, v in given.items()}


def ours(name: str, params: Any, **kwargs: Any) -> torch.optim.Optimizer:
    made: torch.optim.Optimizer = getattr(ost.optim, name)(params, **kwargs)
    return made


def stock(name: str, params: Any, **kwargs: Any) -> torch.optim.Optimizer:
    made: torch.optim.Optimizer = getattr(torch.optim, name)(params, foreach=False, fused=False, **kwargs)
    return made


def parameters(dtype: torch.dtype, shapes: Any = SHAPES) -> list[torch.nn.Parameter]:
    torch.manual_seed(0)
    return [torch.nn.Parameter(torch.randn(s, dtype=torch.float64).to(dtype)) for s in shapes]


def twins(params: list[torch.nn.Parameter], dtype: torch.dtype = torch.float64) -> list[torch.nn.Parameter]:
    return [torch.nn.Parameter(p.detach().to(dtype, copy=True)) for p in params]


def give_gradients(step: int, *lists: list[torch.nn.Parameter]) -> None:
    """The same numbers to all lists, rounded to the dtype of the first."""
    torch.manual_seed(100 + step)
    for params in zip(*lists, strict=True):
        first = params[0]
        kind = torch.complex128 if first.is_complex() else torch.float64
        grad = torch.randn(first.shape, dtype=kind).to(first.dtype)
        for p in params:
            p.grad = grad.to(p.dtype, copy=True)


def train(
    *pairs: tuple[torch.optim.Optimizer, list[torch.nn.Parameter]], steps: int = 4, start: int = 0
) -> None:
    for step in range(start, start + steps):
        give_gradients(step, *(params for _, params in pairs))
        for optimizer, _ in pairs:
            optimizer.step()
