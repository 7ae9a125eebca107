"""How far apart the results of two runs of the same calls are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree


@dataclass(frozen=True)
class Difference:
    """The largest differences over ``calls`` calls.

    ``max_rel`` relates a difference to the largest magnitude of its tensor.
    ``disagreement`` is the first call that is outside of the tolerance, empty
    where none is; ``exact`` says that all results were the same bit for bit.
    """

    max_abs: float = 0.0
    max_rel: float = 0.0
    calls: int = 0
    exact: bool = True
    disagreement: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain values; an infinite difference becomes the text ``"inf"``."""
        return {key: "inf" if value == float("inf") else value for key, value in asdict(self).items()}


class Measure:
    """Collects a `Difference`, call by call."""

    def __init__(self, rtol: float, atol: float) -> None:
        self._rtol, self._atol = rtol, atol
        self._max_abs = self._max_rel = 0.0
        self._calls = 0
        self._exact = True
        self._disagreement = ""

    def add(self, expected: Any, got: Any, call: str) -> None:
        """Compare one result, tensor by tensor; other values must be equal."""
        self._calls += 1
        wanted, found = pytree.tree_leaves(expected), pytree.tree_leaves(got)
        close = len(wanted) == len(found)
        for first, second in zip(wanted, found, strict=False):
            close = self._leaf(first, second) and close
        if not close:
            self._exact = False
            self._disagreement = self._disagreement or call

    def _leaf(self, expected: Any, got: Any) -> bool:
        if not isinstance(expected, torch.Tensor):
            return type(expected) is type(got) and bool(expected == got)
        if not isinstance(got, torch.Tensor) or got.shape != expected.shape or got.dtype != expected.dtype:
            self._max_abs = self._max_rel = float("inf")
            return False
        wide = torch.complex128 if expected.is_complex() else torch.float64
        first, second = expected.detach().to(wide), got.detach().to(wide)
        apart = torch.where((first == second) | (first.isnan() & second.isnan()), 0.0, (first - second).abs())
        if not apart.numel() or not bool(apart.any()):
            return True
        self._exact = False
        apart = apart.nan_to_num(float("inf"), float("inf"))
        largest = float(apart.max())
        self._max_abs = max(self._max_abs, largest)
        self._max_rel = max(
            self._max_rel, largest / max(float(first.abs().nan_to_num(0.0, 0.0).max()), 1e-30)
        )
        return bool((apart <= self._atol + self._rtol * first.abs()).all())

    def result(self) -> Difference:
        return Difference(self._max_abs, self._max_rel, self._calls, self._exact, self._disagreement)
