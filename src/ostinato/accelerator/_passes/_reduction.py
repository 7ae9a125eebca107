"""Sums and means over dimensions go to a kernel of ours: of small tensors, torch's own is mostly its call."""

from __future__ import annotations

import math

import torch

from .._program import FusedNode, Node, Program, Value
from ._context import Context, rewrite_each

_aten = torch.ops.aten
_MEANS = {_aten.mean.dim, _aten.mean.default}
# Elements up to which torch takes longer to begin than the kernel with one element at a time; up to
# which one thread is enough for a few sums.
_SMALL, _LARGE, _FEW_SUMS = 1 << 12, 1 << 18, 16

_SUMS = {_aten.sum.dim_IntList, _aten.sum.default}


def apply(program: Program, context: Context) -> None:
    """Each such node becomes one call of the kernel."""
    rewrite_each(program, _fused)


def _fused(node: Node) -> FusedNode | None:
    if node.op not in _MEANS | _SUMS:
        return None
    x, out = node.args[0], node.outputs
    wanted = node.kwargs.get("dtype")
    if not _plain(x) or not _plain(out) or wanted not in (None, torch.float32) or 0 in x.sizes:
        return None
    dims = sorted(d % len(x.sizes) for d in _dims(node)) if x.sizes else []
    dims = dims or list(range(len(x.sizes)))  # none named: all of them
    if not _fits(x, out, dims):
        return None
    divisor = math.prod(x.sizes[d] for d in dims) if node.op in _MEANS else 1
    return FusedNode(
        kernel="ostinato::reduction",
        args=(out, x, dims, float(divisor)),
        outputs=(out,),
        fresh=node.fresh,
        written=node.written,
        weights=(),
        sources=(node,),
    )


def _plain(value: Value) -> bool:
    return value.dtype is torch.float32 and not value.conj and not value.neg


def _dims(node: Node) -> list[int]:
    dims = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
    return [dims] if isinstance(dims, int) else list(dims or ())


def _fits(x: Value, out: Value, dims: list[int]) -> bool:
    """Whether the kernel takes it, and is no slower than torch's own."""
    kept_in = [d for d in range(len(x.sizes)) if d not in dims]
    kept_out = kept_in if len(out.sizes) == len(x.sizes) else range(len(kept_in))
    steps = zip(kept_in, kept_out, strict=True)
    kept = _loops([(x.strides[i], x.sizes[i], out.strides[o]) for i, o in steps])
    reduced = _loops([(x.strides[d], x.sizes[d], 0) for d in dims])
    if len(kept) > 2 or len(reduced) > 2:
        return False
    elements = math.prod(x.sizes)
    lone = math.prod(out.sizes) < _FEW_SUMS
    rows = not reduced or reduced[-1][0] == 1 or (bool(kept) and kept[-1][0] == kept[-1][2] == 1)
    return elements <= _SMALL or (rows and (not lone or elements <= _LARGE))


def _loops(dims: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The loops that walk over such dimensions in the order of memory: step, size, step of the output."""
    loops: list[tuple[int, int, int]] = []
    for step, size, to in sorted(dims, key=lambda dim: -dim[0]):
        if size == 1:
            continue
        if loops and (loops[-1][0], loops[-1][2]) == (size * step, size * to):
            loops[-1] = (step, size * loops[-1][1], to)
        else:
            loops.append((step, size, to))
    return loops


__all__ = ["apply"]
