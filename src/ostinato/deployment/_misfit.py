"""What an input is, what it should be, and whether the sizes agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..export import shown


class Misfit(Exception):
    """An input that is not what an argument takes; the caller knows of which file."""

    def __init__(self, name: str, got: str, wanted: str) -> None:
        super().__init__(name, got, wanted)
        self.name, self.got, self.wanted = name, got, wanted


def fits(shape: Sequence[int], wanted: Sequence[int], open_: set[int]) -> bool:
    """Whether the sizes are the wanted ones, but for those that are open."""
    return len(shape) == len(wanted) and all(
        a == b or d in open_ for d, (a, b) in enumerate(zip(shape, wanted, strict=True))
    )


def text(value: Any) -> str:
    """``float32[1, 512]``, ``16000``."""
    return shown((value,), {})[1:-1].removesuffix(",")


__all__ = ["Misfit", "fits", "text"]
