"""What every peer comes down to: write inputs, run once, read results."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import torch

from ._rows import Tensors


class NotInstalled(Exception):
    """The package of a peer is not there."""


class PeerFailed(Exception):
    """A peer that is there did not run, or did not agree."""


def nothing() -> None:
    """The reset of a model without state."""


@dataclasses.dataclass(frozen=True)
class Runner:
    """A row made ready in one runtime. What ``step`` runs stays ready between calls: no part of it is set
    up anew, and its inputs are where ``write`` has put them. ``ready`` is the seconds that it took from
    the model in the runtime's own format to the first result."""

    write: Callable[[Tensors], None]
    step: Callable[[], object]
    results: Callable[[], Tensors]
    ready: float
    reset: Callable[[], None] = nothing


class Clock:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    def __call__(self) -> float:
        return time.perf_counter() - self._began


def calling(
    function: Callable[..., object], inputs: Tensors, ready: float, reset: Callable[[], None] = nothing
) -> Runner:
    """The runner of a Python callable that takes ``inputs`` and returns tensors."""
    last: list[object] = [None]

    def step() -> None:
        last[0] = function(*inputs)

    def results() -> Tensors:
        made = last[0]
        return (made,) if isinstance(made, torch.Tensor) else tuple(made)  # type: ignore[arg-type]

    return Runner(lambda new: copy_all(inputs, new), step, results, ready, reset)


def copy_all(to: Tensors, new: Tensors) -> None:
    for target, source in zip(to, new, strict=True):
        target.copy_(source)
