"""What formulas of chains are written with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._chain_code import Code, Input, Op, Operand, Result

Arguments = dict[str, Any]
Entry = Callable[[Code, Arguments], Operand | None]


def is_tensor(argument: object) -> bool:
    return isinstance(argument, (Input, Result))


def scaled(c: Code, factor: Operand, x: Operand) -> Operand:
    """``factor`` times ``x``."""
    return x if factor == 1 and not is_tensor(factor) else c(Op.MULTIPLY, x, factor)
