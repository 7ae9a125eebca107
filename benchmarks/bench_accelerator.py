"""Capture and replay beside eager: inference of small nets, training steps, and the cost of a capture."""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable

import torch

import ostinato as ost

from ._timing import alternate, show

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
        self.cell = torch.nn.LSTMCell(47, 64)
        self.head = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ELU(), torch.nn.Linear(32, 12))

    def forward(self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
        h, c = self.cell(x, (h, c))
        return self.head(h), h, c


def mlp() -> torch.nn.Module:
    layers: list[torch.nn.Module] = []
    for _ in range(4):
        layers += [torch.nn.Linear(256, 256), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def cnn() -> torch.nn.Module:
    layers: list[torch.nn.Module] = []
    for i, o in ((3, 8), (8, 16), (16, 32)):
        layers += [torch.nn.Conv2d(i, o, 3, 2, 1), torch.nn.BatchNorm2d(o), torch.nn.ReLU()]
    return torch.nn.Sequential(
        *layers, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(32, 10)
    )


def chain(x: torch.Tensor) -> torch.Tensor:
    for _ in range(10):
        x = torch.tanh(x * 1.01 + 0.1) * torch.sigmoid(x)
    return x


WORK: dict[str, tuple[Callable[[], Callable[..., object]], tuple[tuple[int, ...], ...]]] = {
    "MLP 4 x 256": (mlp, ((1, 256),)),
    "LSTM policy": (LstmPolicy, ((1, 47), (1, 64), (1, 64))),
    "block d 256, 32 tokens": (lambda: Block(256, 8), ((1, 32, 256),)),
    "block d 256, 1 token": (lambda: Block(256, 8), ((1, 1, 256),)),
    "6 blocks d 384, 32 tokens": (
        lambda: torch.nn.Sequential(*[Block(384, 6) for _ in range(6)]),
        ((1, 32, 384),),
    ),
    "CNN 32 x 32": (cnn, ((1, 3, 32, 32),)),
    "pointwise chain, 1 k": (lambda: chain, ((1000,),)),
    "pointwise chain, 1 M": (lambda: chain, ((1000000,),)),
}


def inference() -> None:
    rows = {}
    with torch.no_grad():
        for name, (make, shapes) in WORK.items():
            model = make()
            if isinstance(model, torch.nn.Module):
                model.eval()
            inputs = [torch.randn(s) for s in shapes]
            runs = {"eager": lambda m=model, i=inputs: m(*i)}
            for numerics in ("exact", "fast"):
                graph = ost.accelerator.Graph(numerics=numerics)
                with graph:
                    model(*inputs)
                runs[numerics] = graph.replay
            rows[name] = alternate(runs)
    show("Inference, 1 thread", rows)


def training() -> None:
    rows = {}
    for name, make, shape in (
        ("MLP 4 x 256, batch 32", mlp, (32, 256)),
        ("CNN, batch 8", cnn, (8, 3, 32, 32)),
    ):
        x = torch.randn(shape)

        def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor = x) -> None:
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()

        runs: dict[str, Callable[[], object]] = {}
        first = make()
        for kind in ("eager", "exact"):
            model = copy.deepcopy(first)
            optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
            step(model, optimizer)
            if kind == "eager":
                runs[kind] = lambda m=model, o=optimizer, s=step: s(m, o)
            else:
                graph = ost.accelerator.Graph()
                with graph:
                    step(model, optimizer)
                runs[kind] = graph.replay
        rows[name] = alternate(runs)
    show("A training step (SGD with momentum), 1 thread", rows)


def capture() -> None:
    model = torch.nn.Sequential(*[Block(384, 6) for _ in range(6)]).eval()
    x = torch.randn(1, 32, 384)
    took, eager = [], []
    with torch.no_grad():
        for _ in range(7):
            start = time.perf_counter()
            model(x)
            eager.append(time.perf_counter() - start)
            start = time.perf_counter()
            with ost.accelerator.Graph():
                model(x)
            took.append(time.perf_counter() - start)
    once, run = statistics.median(took) * 1e3, statistics.median(eager) * 1e3
    print(f"A capture of 6 blocks (d 384, 32 tokens): {once:.1f} ms, {once / run:.1f} times one eager run")


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    inference()
    training()
    capture()


if __name__ == "__main__":
    main()
