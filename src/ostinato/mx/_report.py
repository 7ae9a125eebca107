"""What ``quantize_`` did to a module."""

from __future__ import annotations

import dataclasses
import math

import torch


@dataclasses.dataclass(frozen=True)
class QuantizedWeight:
    """One weight; ``snr`` is its signal-to-noise ratio in dB, infinite where nothing was lost."""

    names: tuple[str, ...]  # more than one where it is tied
    shape: tuple[int, ...]
    format: str
    bytes_before: int
    bytes_after: int
    snr: float


@dataclasses.dataclass(frozen=True)
class LeftWeight:
    """One weight that stays as it is, and why."""

    name: str
    reason: str


@dataclasses.dataclass
class Report:
    """Filled by ``quantize_(..., report=report)``; printed, it is a table."""

    quantized: list[QuantizedWeight] = dataclasses.field(default_factory=list)
    left: list[LeftWeight] = dataclasses.field(default_factory=list)

    @property
    def bytes_before(self) -> int:
        """Of the quantized weights."""
        return sum(weight.bytes_before for weight in self.quantized)

    @property
    def bytes_after(self) -> int:
        """Of the quantized weights, their scales included."""
        return sum(weight.bytes_after for weight in self.quantized)

    def __str__(self) -> str:
        head = ("weight", "shape", "format", "bytes before", "after", "SNR dB")
        rows = [
            (
                " = ".join(w.names),
                "x".join(map(str, w.shape)),
                w.format,
                f"{w.bytes_before:,}",
                f"{w.bytes_after:,}",
                f"{w.snr:.1f}",
            )
            for w in self.quantized
        ]
        total = ("all", "", "", f"{self.bytes_before:,}", f"{self.bytes_after:,}", "")
        table = [head, *rows, total]
        widths = [max(len(row[i]) for row in table) for i in range(len(head))]
        lines = [_line(row, widths) for row in table]
        return "\n".join(lines + [f"left: {w.name}: {w.reason}" for w in self.left])


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    text = [cell.ljust(n) for cell, n in zip(row[:3], widths[:3], strict=True)]
    figures = [cell.rjust(n) for cell, n in zip(row[3:], widths[3:], strict=True)]
    return "  ".join(text + figures).rstrip()


class Noise:
    """Adds up the signal-to-noise ratio of a tensor that comes in parts, in float64."""

    def __init__(self) -> None:
        self._signal = self._noise = 0.0

    def add(self, exact: torch.Tensor, rounded: torch.Tensor) -> None:
        exact, rounded = exact.double(), rounded.double()
        self._signal += exact.square().sum().item()
        self._noise += (rounded - exact).square().sum().item()

    def decibels(self) -> float:
        if self._noise == 0:
            return math.inf
        return 10 * math.log10(self._signal / self._noise) if self._signal else -math.inf


__all__ = ["LeftWeight", "Noise", "QuantizedWeight", "Report"]
