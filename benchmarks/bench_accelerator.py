"""Capture and replay beside eager: training steps, and the cost of a capture. Inference is `replay`'s."""

from __future__ import annotations

import copy
import statistics
import time
from collections.abc import Callable

import torch

import ostinato as ost

from ._models import blocks, cnn, mlp
from ._timing import alternate, show


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
    model = blocks(6, 384, 6).eval()
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
    training()
    capture()


if __name__ == "__main__":
    main()
