"""The networks that the tests of `make_graphed_callables` share."""

from __future__ import annotations

import copy

import torch

from ostinato.accelerator import make_graphed_callables


def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))


def pair(*, samples=None, **options):
    """A graphed network and an eager one with the same weights."""
    eager = net()
    return make_graphed_callables(copy.deepcopy(eager), samples or (torch.randn(4, 6),), **options), eager


def grads(module):
    return [p.grad for p in module.parameters()]
