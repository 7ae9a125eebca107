"""How far apart the results of two runs of the same calls are."""

from __future__ import annotations

import math
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


def relative_error(expected: list[list[Any]], got: list[list[Any]]) -> float:
    """The largest, over the tensors of the results, of ``|got - expected| / |expected|`` over all calls.

    Results of one place and shape are taken together over the calls, so that a
    small answer weighs little. Of whole numbers and booleans the share that
    differs counts instead. Infinite where anything else differs.
    """
    sums: dict[Any, list[float]] = {}
    for first_row, second_row in zip(expected, got, strict=True):
        for first, second in zip(first_row, second_row, strict=True):
            leaves = zip(pytree.tree_leaves(first), pytree.tree_leaves(second), strict=True)
            for place, (a, b) in enumerate(leaves):
                if isinstance(a, torch.Tensor):
                    noise, signal = _energies(a.detach(), b.detach())
                    entry = sums.setdefault((place, a.shape), [0.0, 0.0])
                    entry[0] += noise
                    entry[1] += signal
                elif a != b:
                    return math.inf
    shares = [noise / signal if signal else math.inf for noise, signal in sums.values() if noise]
    return math.sqrt(max(shares, default=0.0))


def _energies(a: torch.Tensor, b: torch.Tensor) -> tuple[float, float]:
    if not (a.is_floating_point() or a.is_complex()):
        return float((a != b).sum()), float(a.numel())
    wide = torch.complex128 if a.is_complex() else torch.float64
    a, b = a.to(wide), b.to(wide)
    same = (a == b) | (a.isnan() & b.isnan())
    noise = torch.where(same, 0.0, (b - a).abs()).square().nan_to_num(math.inf).sum()
    return float(noise), float(a.abs().nan_to_num(0.0, 0.0).square().sum())
