"""The models that the benchmarks run, each small enough that overhead shows."""

from __future__ import annotations

import torch

F = torch.nn.functional


class Block(torch.nn.Module):
    """A pre-norm transformer block."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class LstmPolicy(torch.nn.Module):
    """The shape of a robot's walking policy: state in, state out."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = torch.nn.LSTM(47, 64)
        self.head = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ELU(), torch.nn.Linear(32, 12))

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
        hidden, (h, c) = self.memory(x, (h, c))
        return self.head(hidden), h, c


class Chain(torch.nn.Module):
    """Fifty pointwise operators, twenty of them transcendental, in a row."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(10):
            x = torch.tanh(x * 1.01 + 0.1) * torch.sigmoid(x)
        return x


def mlp() -> torch.nn.Module:
    """Four Linear 256 to 256 with ReLU between."""
    layers: list[torch.nn.Module] = []
    for _ in range(4):
        layers += [torch.nn.Linear(256, 256), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def blocks(count: int, width: int, heads: int) -> torch.nn.Module:
    return torch.nn.Sequential(*[Block(width, heads) for _ in range(count)])


def cnn() -> torch.nn.Module:
    """Three strided convolutions with batch norm, then a classifier."""
    layers: list[torch.nn.Module] = []
    for i, o in ((3, 8), (8, 16), (16, 32)):
        layers += [torch.nn.Conv2d(i, o, 3, 2, 1), torch.nn.BatchNorm2d(o), torch.nn.ReLU()]
    return torch.nn.Sequential(
        *layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 10)
    )
