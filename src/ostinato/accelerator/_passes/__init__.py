"""What fast numerics does to a program before its steps are built: one file a pass, run in this order."""

from __future__ import annotations

from collections.abc import Callable

from .._program import Program
from . import (
    _attention,
    _constants,
    _convolution,
    _copies,
    _dead,
    _linear,
    _normalisation,
    _padding,
    _pointwise,
    _recurrent,
    _reduction,
    _softmax,
)
from ._context import Context, each_block

_PASSES: tuple[Callable[[Program, Context], None], ...] = (
    _constants.apply,
    _dead.apply,
    _convolution.apply,
    _copies.apply,
    _attention.apply,
    _linear.apply,
    _recurrent.apply,
    _normalisation.apply,
    _softmax.apply,
    _reduction.apply,
    _padding.apply,
    _pointwise.apply,
)


def run(program: Program, weights: frozenset[int], frozen: bool) -> None:
    """Rewrites ``program`` in place; ``weights`` and ``frozen`` as for ``GraphImplInterface``."""
    each_block(program, weights, frozen, _run)


def _run(block: Program, context: Context) -> None:
    for apply in _PASSES:
        apply(block, context)


__all__ = ["run"]
