"""Training steps as graphs beside eager torch: forward, loss, backward and AdamW in one replay."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable

import torch

import ostinato as ost

from ._timing import alternate, show

nn = torch.nn
F = nn.functional


def mlp() -> nn.Module:
    """Three hidden layers of 128."""
    widths = (64, 128, 128, 128)
    layers: list[nn.Module] = []
    for i, o in itertools.pairwise(widths):
        layers += [nn.Linear(i, o), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(128, 10))


def cnn() -> nn.Module:
    """For images of 28 x 28."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 49, 10),
    )


class Transformer(nn.Module):
    """Two pre-norm layers, width 64, 4 heads."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 256, 0.0, batch_first=True, norm_first=True)
        self.embed = nn.Linear(32, 64)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.embed(x)).mean(1))


WORK: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "MLP 3 x 128, batch 32": (mlp, (32, 64)),
    "CNN 28 x 28, batch 64": (cnn, (64, 1, 28, 28)),
    "transformer 2 x 64, 16 tokens, batch 8": (Transformer, (8, 16, 32)),
}


def runs_of(make: Callable[[], nn.Module], shape: tuple[int, ...]) -> dict[str, Callable[[], object]]:
    """The step of eager torch with each of its AdamWs, and as a graph."""
    first, x, y = make(), torch.randn(shape), torch.randint(0, 10, shape[:1])

    def stepper(**options: bool) -> Callable[[], torch.Tensor]:
        model = copy.deepcopy(first)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **options)

        def step() -> torch.Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        step()  # makes the optimizer's state
        return step

    runs: dict[str, Callable[[], object]] = {
        "eager": stepper(fused=True),
        "eager, foreach": stepper(foreach=True),
    }
    for numerics in ("exact", "fast"):
        step, graph = stepper(fused=True), ost.accelerator.Graph(numerics=numerics)
        with graph:
            loss = step()
        runs[numerics] = lambda g=graph, kept=loss: g.replay()  # type: ignore[misc]
    return runs


def main() -> None:
    torch.manual_seed(0)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        rows = {name: alternate(runs_of(*work)) for name, work in WORK.items()}
        show(f"A training step with AdamW, {threads} thread{'s'[: threads - 1]}", rows)


if __name__ == "__main__":
    main()
