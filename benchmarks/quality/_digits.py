"""The convolutional net of ``examples/train_digits.py``, trained here, and digits that it has not seen."""

from __future__ import annotations

import pathlib
import runpy
from typing import Any

import torch

from ._task import Task

_EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "train_digits.py"
_SEEDS, _EPOCHS = 5, 20


def tasks() -> Task:
    example = runpy.run_path(str(_EXAMPLE))
    *training, images, labels = example["digits"]()
    models = [_trained(example, training, seed) for seed in range(_SEEDS)]

    def measure(model: torch.nn.Module) -> tuple[float, ...]:
        return (100 * example["accuracy"](model, images, labels),)

    return Task(f"digits: CNN, mean of {_SEEDS} trainings", models, ("accuracy %",), measure, (".2f",))


def _trained(example: dict[str, Any], data: list[torch.Tensor], seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    training = example["Training"](example["net"]())
    example["train"](training, training.step, example["batches"](*data, _EPOCHS))
    model: torch.nn.Module = training.model
    return model
