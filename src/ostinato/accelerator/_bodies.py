"""Runs the bodies of conditions and loops, and gives what they return a place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .._errors import fail
from ._capture import Recorder
from ._guard import below_autograd
from ._program import Value
from ._restore import move_versions
from ._scopes import Scope
from ._source import text, user_line


class Predicate:
    """A tensor that decides, as a bool in memory."""

    def __init__(self, recorder: Recorder, tensor: torch.Tensor, where: tuple[str, int]) -> None:
        if tensor.numel() != 1:
            raise fail("accelerator.predicate", shape=tuple(tensor.shape), where=text(where))
        with torch.no_grad():
            plain = tensor.dtype is torch.bool and torch._C._has_storage(tensor)
            self.tensor = tensor.detach() if plain else tensor != 0
        self.value: Value = recorder.value(self.tensor)

    def now(self) -> bool:
        """What it holds at this moment."""
        with below_autograd():
            return bool(self.tensor.item())


def run(recorder: Recorder, scope: Scope, function: Callable[[], Any]) -> Any:
    """Records ``function`` in ``scope``."""
    with recorder.inside(scope):
        out = function()
        recorder.random.before(recorder.nodes, user_line())
    return out


class Undo:
    """Takes back what bodies do, so that each begins where the first did."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._marks = recorder.random.mark()
        self._versions: list[dict[int, tuple[torch.Tensor, int]]] = []
        self._moved = False

    def after(self, scope: Scope, keep: bool) -> None:
        """Called when a body has run; where ``keep``, what it has written to memory stays."""
        scope.points = self._recorder.random.points()
        self._versions.append(scope.snapshots.versions())
        if not keep:
            scope.snapshots.put_back()
        self._moved = self._recorder.random.rewind(self._marks) or self._moved

    def end(self) -> None:
        """Called when the node stands: nobody can know now where a generator will be then."""
        move_versions(*self._versions)
        if self._moved:
            self._recorder.random.lose(self._recorder.nodes)


def place_for(result: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """New memory that looks like ``result``."""
    steps = [s if n != 1 else 0 for n, s in zip(result.shape, strides, strict=True)]
    repeated = [d for d, n in enumerate(result.shape) if n > 1 and steps[d] == 0]
    kept = [1 if d in repeated else n for d, n in enumerate(result.shape)]
    made = torch.empty_strided(kept, strides, dtype=result.dtype, device=result.device)
    return made.expand(result.shape) if repeated else made


def give(place: torch.Tensor, result: torch.Tensor) -> None:
    """Copies a result to its place."""
    for d, (n, step) in enumerate(zip(place.shape, place.stride(), strict=True)):
        if n > 1 and step == 0:
            place, result = place.narrow(d, 0, 1), result.narrow(d, 0, 1)
    place.copy_(result)


def same_layout(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors of one shape have their elements at the same distances."""
    return a.numel() == 0 or all(
        n == 1 or s == t for n, s, t in zip(a.shape, a.stride(), b.stride(), strict=True)
    )
