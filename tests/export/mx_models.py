"""Small modules with every kind of weight that can be quantized."""

import torch
from torch import nn

import ostinato as ost

FORMATS = ("mxfp4", "mxfp6_e2m3", "mxfp6_e3m2", "mxfp8_e4m3", "mxfp8_e5m2", "mxint8")


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, 24, 40))

    def forward(self, x):
        return torch.einsum("bk,enk->ben", x, self.weight)


class Tied(nn.Module):
    """A table that is also the last layer."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 64)
        self.out = nn.Linear(64, 50, bias=False)
        self.out.weight = self.table.weight

    def forward(self, i):
        return self.out(self.table(i))


def _net():
    layers = nn.Linear(70, 48), nn.GELU(), nn.Linear(48, 20, dtype=torch.float32)
    return nn.Sequential(*layers), (torch.randn(5, 70),)


def _half():
    return nn.Linear(64, 32, dtype=torch.bfloat16), (torch.randn(3, 64, dtype=torch.bfloat16),)


def _convolutions():
    layers = (
        nn.Conv2d(4, 8, 3),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 4, 2, groups=2),
        nn.Flatten(2),
        nn.Conv1d(4, 4, 3),
    )
    return nn.Sequential(*layers), (torch.randn(2, 4, 6, 6),)


MODELS = {
    "linear": _net,
    "bfloat16": _half,
    "embedding": lambda: (nn.Embedding(20, 48), (torch.tensor([[1, 2, 19]]),)),
    "tied": lambda: (Tied(), (torch.tensor([[1, 2, 49]]),)),
    "convolution": _convolutions,
    "experts": lambda: (Experts(), (torch.randn(2, 40),)),
}


def quantized(name, format):
    """``(module, its arguments)``."""
    torch.manual_seed(0)
    module, args = MODELS[name]()
    return ost.mx.quantize_(module.eval(), getattr(ost.mx, format)), args
