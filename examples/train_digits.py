"""Trains a small convolutional net on scikit-learn's 1797 digits, in eager torch and as one graph a step.

    python examples/train_digits.py

The whole step is one capture: forward, loss, backward, clipping, AdamW and the
zeroing of gradients. In exact numerics the losses are the same numbers, bit for bit.
Needs scikit-learn for the data.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable, Iterator

import torch
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

import ostinato as ost

F = torch.nn.functional
BATCH = 64


def digits() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Images (n, 1, 8, 8) between 0 and 1 with their labels: the first 1500 to train on, 297 to test with."""
    data = load_digits()
    images = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16
    labels = torch.tensor(data.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    images, labels = images[order], labels[order]
    return images[:1500], labels[:1500], images[1500:], labels[1500:]


def net() -> torch.nn.Module:
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 16, 64),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Linear(64, 10),
    )


class Training:
    """A model with its optimizer; ``step`` trains on whatever ``images`` and ``labels`` hold."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, fused=True)
        self.images, self.labels = torch.zeros(BATCH, 1, 8, 8), torch.zeros(BATCH, dtype=torch.long)

    def step(self) -> torch.Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(self.model(self.images), self.labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return loss.detach()


def batches(images: torch.Tensor, labels: torch.Tensor, epochs: int) -> Iterator[tuple[torch.Tensor, ...]]:
    generator = torch.Generator().manual_seed(1)
    for _ in range(epochs):
        order = torch.randperm(len(labels), generator=generator)
        for start in range(0, len(labels) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            yield images[chosen], labels[chosen]


def train(
    training: Training, run: Callable[[], torch.Tensor], data: Iterator[tuple[torch.Tensor, ...]]
) -> tuple[list[float], float]:
    """The losses, and the seconds that the steps took without fetching the batches."""
    losses, seconds = [], 0.0
    for images, labels in data:
        training.images.copy_(images)
        training.labels.copy_(labels)
        start = time.perf_counter()
        loss = run()
        seconds += time.perf_counter() - start
        losses.append(loss.item())
    return losses, seconds


def as_graph(training: Training, numerics: str) -> Callable[[], torch.Tensor]:
    """One step as a graph. The optimizer has made its state before: a capture would start it anew."""
    graph = ost.accelerator.Graph(numerics=numerics)
    with graph:
        loss = training.step()

    def run() -> torch.Tensor:
        graph.replay()
        return loss

    return run


def warm_up(training: Training) -> None:
    """Lets the optimizer make its state, and takes back what the step did."""
    parameters = [p.detach().clone() for p in training.model.parameters()]
    training.step()
    for p, was in zip(training.model.parameters(), parameters, strict=True):
        p.data.copy_(was)
    for state in training.optimizer.state.values():
        for value in state.values():
            value.zero_()


def accuracy(model: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    model.eval()
    with torch.no_grad():
        right = (model(images).argmax(1) == labels).float().mean().item()
    model.train()
    return right


def main(epochs: int) -> dict[str, dict[str, object]]:
    torch.manual_seed(0)
    images, labels, test_images, test_labels = digits()
    first = net()
    results: dict[str, dict[str, object]] = {}
    for kind in ("eager", "exact", "fast"):
        training = Training(copy.deepcopy(first))
        warm_up(training)
        torch.manual_seed(2)  # dropout draws the same numbers in all three
        run = training.step if kind == "eager" else as_graph(training, kind)
        losses, seconds = train(training, run, batches(images, labels, epochs))
        results[kind] = {
            "losses": losses,
            "microseconds": seconds / len(losses) * 1e6,
            "accuracy": accuracy(training.model, test_images, test_labels),
        }
    return results


def show(results: dict[str, dict[str, object]]) -> None:
    console = Console()
    eager = results["eager"]
    table = Table("step", "µs", "times eager", "first loss", "last loss", "same losses", "test accuracy")
    for kind, result in results.items():
        losses = result["losses"]
        assert isinstance(losses, list)
        table.add_row(
            kind,
            f"{result['microseconds']:.0f}",
            f"{eager['microseconds'] / result['microseconds']:.2f}",  # type: ignore[operator]
            f"{losses[0]:.6f}",
            f"{losses[-1]:.6f}",
            "yes" if losses == eager["losses"] else "no",
            f"{result['accuracy']:.1%}",
        )
    console.print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    show(main(arguments.epochs))
