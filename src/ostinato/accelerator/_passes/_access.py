"""How the elements of a value lie in memory, seen from a loop over the elements of another."""

from __future__ import annotations

import dataclasses

import torch

from .._program import Value
from ._layout import expanded

Ints = tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Access:
    """The element of a storage that each turn of a loop touches."""

    value: Value
    strides: Ints  # one a dimension of the loop

    @property
    def place(self) -> tuple[int, torch.dtype, int, Ints]:
        """Equal for two of one loop that touch the same elements in the same turns."""
        return self.value.storage, self.value.dtype, self.value.offset, self.strides

    def over(self, sizes: Ints, wanted: Ints) -> Access | None:
        """The same walk by a loop of other sizes; None where there is none."""
        strides = restride(sizes, self.strides, wanted)
        return None if strides is None else Access(self.value, strides)


@dataclasses.dataclass(frozen=True, slots=True)
class Loop:
    """Over the elements of a value in the order of its memory."""

    sizes: Ints  # the slowest first; none is 1, unless it is the only one
    order: Ints  # which dimensions of the value they are

    def access(self, value: Value, shape: Ints) -> Access | None:
        """How ``value``, broadcast to ``shape``, is touched; None where it does not broadcast."""
        wide = expanded(value, shape)
        return None if wide is None else Access(value, tuple(wide.strides[d] for d in self.order) or (0,))


def loop_over(value: Value) -> Loop | None:
    """The loop that writes ``value``; None where two of its elements may be one."""
    order = [d for d, size in enumerate(value.sizes) if size != 1]
    order.sort(key=lambda d: -value.strides[d])
    reach = 0
    for d in reversed(order):
        if value.strides[d] <= reach:
            return None
        reach += value.strides[d] * (value.sizes[d] - 1)
    return Loop(tuple(value.sizes[d] for d in order) or (1,), tuple(order))


def restride(sizes: Ints, strides: Ints, wanted: Ints) -> Ints | None:
    """The strides of the same walk over memory by a loop of other sizes; None where there is none."""
    runs: list[tuple[int, int]] = []  # length and stride, the fastest first, as long as possible
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size == 1:
            continue
        if runs and stride == runs[-1][0] * runs[-1][1]:
            runs[-1] = (runs[-1][0] * size, runs[-1][1])
        else:
            runs.append((size, stride))
    made, run, left, step = [], 0, 1, 0
    for size in reversed(wanted):
        if size == 1:
            made.append(0)
            continue
        if left == 1:
            if run == len(runs):
                return None
            left, step = runs[run]
            run += 1
        if left % size:
            return None
        made.append(step)
        left //= size
        step *= size
    return tuple(reversed(made))


def disjoint(a: Access, b: Access, sizes: Ints) -> bool:
    """Whether two accesses to one storage certainly touch no byte in common."""
    apart = _end(a, sizes) <= _start(b) or _end(b, sizes) <= _start(a)
    if apart or a.value.dtype is not b.value.dtype or a.strides != b.strides:
        return apart
    return not _reachable(abs(a.value.offset - b.value.offset), a.strides, sizes)


def _start(a: Access) -> int:
    return a.value.offset * a.value.dtype.itemsize


def _end(a: Access, sizes: Ints) -> int:
    last = a.value.offset + sum((n - 1) * s for n, s in zip(sizes, a.strides, strict=True))
    return (last + 1) * a.value.dtype.itemsize


def _reachable(distance: int, strides: Ints, sizes: Ints) -> bool:
    """Whether a difference of two turns of the loop may be ``distance`` elements of memory."""
    dims = sorted((s, n) for s, n in zip(strides, sizes, strict=True) if n > 1)

    def search(rest: int, d: int) -> bool:
        if d < 0:
            return rest == 0
        stride, size = dims[d]
        if stride == 0:
            return search(rest, d - 1)
        reach = sum((n - 1) * s for s, n in dims[:d])
        low, high = -(-(rest - reach) // stride), (rest + reach) // stride
        return any(
            search(rest - k * stride, d - 1) for k in range(max(low, 1 - size), min(high, size - 1) + 1)
        )

    return search(distance, len(dims) - 1)
