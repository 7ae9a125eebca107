"""Sizes and differences in words, the same in every form of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._difference import Difference

if TYPE_CHECKING:
    from ._report import DeployReport


def shown(difference: Difference) -> str:
    """How far two runs were apart."""
    if difference.exact:
        return f"the same bit for bit over {difference.calls} calls"
    return f"largest difference {difference.max_abs:.2g} over {difference.calls} calls"


def size(count: int) -> str:
    """Bytes for people."""
    if count < 10_000:
        return f"{count} bytes"
    return f"{count / 1e3:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"


def inputs(report: DeployReport) -> list[str]:
    """Where the inputs of a deployment came from, a line each."""
    lines = []
    if report.guessed:
        lines.append("found by trial; give args (--args) for others")
    if report.data:
        more = f" and {len(report.data) - 3} more" if len(report.data) > 3 else ""
        lines.append(f"compared on {', '.join(report.data[:3])}{more}")
    elif report.eager:
        lines.append("compared on random values; give data (--data) for real ones")
    return lines


__all__ = ["inputs", "shown", "size"]
