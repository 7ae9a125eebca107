"""A model and what it is judged by."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import torch


@dataclasses.dataclass(frozen=True)
class Task:
    """``measure`` gives the figures of a model, in the order of ``figures``, which are their names."""

    title: str
    models: Sequence[torch.nn.Module]  # of several, the mean is shown
    figures: tuple[str, ...]
    measure: Callable[[torch.nn.Module], tuple[float, ...]]
    formats: tuple[str, ...]  # of the figures, as in format()
