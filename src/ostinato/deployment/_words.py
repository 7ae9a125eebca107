"""Sizes and differences in words, the same in every form of a report."""

from __future__ import annotations

from ._difference import Difference


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


__all__ = ["shown", "size"]
