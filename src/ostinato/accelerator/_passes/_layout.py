"""How the numbers of a value lie in memory, as kernels that work on rows want to know it."""

from __future__ import annotations

import dataclasses
import math

import torch

from .._program import Value


def is_float(*values: Value | None) -> bool:
    """Whether all that are there are float32 and mean what their memory holds."""
    return all(v is None or (v.dtype == torch.float32 and not v.conj and not v.neg) for v in values)


def dense(*values: Value | None) -> bool:
    """Whether the numbers of each lie side by side in the order of their indexes."""
    return all(v is None or _step(v.sizes, v.strides) in (1, None) for v in values)


def same_elements(a: Value, b: Value) -> bool:
    """Whether both are the same numbers of one memory, side by side, in one order."""
    return (
        (a.storage, a.offset, a.dtype) == (b.storage, b.offset, b.dtype)
        and not (a.conj or a.neg or b.conj or b.neg)
        and math.prod(a.sizes) == math.prod(b.sizes)
        and dense(a, b)
    )


def expanded(value: Value, sizes: tuple[int, ...]) -> Value | None:
    """``value`` broadcast to ``sizes``; None where it does not fit."""
    missing = len(sizes) - len(value.sizes)
    if missing < 0:
        return None
    strides = [0] * missing
    for own, stride, size in zip(value.sizes, value.strides, sizes[missing:], strict=True):
        if own not in (1, size):
            return None
        strides.append(stride if own == size else 0)
    return dataclasses.replace(value, sizes=tuple(sizes), strides=tuple(strides))


@dataclasses.dataclass(frozen=True, slots=True)
class Rows:
    """A value as rows of numbers that lie side by side, each row ``step`` numbers after the one before."""

    count: int
    width: int
    step: int


def rows(value: Value, dims: int) -> Rows | None:
    """``value`` as rows over its last ``dims`` dimensions; None where its strides allow none, or if empty."""
    split = len(value.sizes) - dims
    count, width = math.prod(value.sizes[:split]), math.prod(value.sizes[split:])
    if not count * width or _step(value.sizes[split:], value.strides[split:]) not in (1, None):
        return None
    step = _step(value.sizes[:split], value.strides[:split])
    return None if step == 0 else Rows(count, width, width if step is None else step)


def _step(sizes: tuple[int, ...], strides: tuple[int, ...]) -> int | None:
    """The one step with which a walk over all indexes passes the memory; 0 if there is none, None if it
    has a single place to go to."""
    step: int | None = None
    expected = 0
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size == 1:
            continue
        if step is None:
            step = stride
        elif stride != expected:
            return 0
        expected = stride * size
    return step
