"""Batch norms as members of chains: those that no convolution before them takes in."""

from __future__ import annotations

import math

import torch

from .._program import Node, Value
from ._access import Access, Loop, loop_over
from ._batch_norm import batch_norm
from ._chain_code import Code, Op, Operand
from ._chain_entry import Arguments
from ._chain_node import Pointwise
from ._context import Uses

# The root and the quotient of a channel are computed once a row, but where channels are what a row is made of
# they are computed in each; more often than this, and torch's own step is faster.
_OFTEN = 16


def normalised(index: int, node: Node, uses: Uses) -> Pointwise | None:
    """``node`` as part of a chain, if it is a batch norm by given statistics."""
    norm = batch_norm(node)
    if norm is None:
        return None
    out, *unused = node.outputs
    if any(v.dtype is not torch.float32 or v.conj or v.neg for v in (norm.input, out, *norm.values)):
        return None
    if any(not uses.private(v.storage, {index}) for v in unused) or 0 in out.sizes:
        return None
    loop = loop_over(out)
    read, written = (loop.access(v, out.sizes) for v in (norm.input, out)) if loop else (None, None)
    if loop is None or read is None or written is None:
        return None
    if loop.order[-1:] == (1,) and math.prod(loop.sizes) > _OFTEN * loop.sizes[-1]:
        return None
    named = {"gamma": norm.gamma, "beta": norm.beta, "mean": norm.mean, "variance": norm.variance}
    given: Arguments = {k: _channel(v, loop) for k, v in named.items() if v is not None}
    given |= {"input": read, "epsilon": norm.epsilon}
    return Pointwise(node, _entry, given, written, loop.sizes, copies=False, native=False)


def _channel(value: Value, loop: Loop) -> Access:
    """One number a channel, and channels are the second dimension."""
    return Access(value, tuple(value.strides[0] if d == 1 else 0 for d in loop.order) or (0,))


def _entry(c: Code, a: Arguments) -> Operand:
    scale: Operand = c(Op.DIVIDE, 1.0, c(Op.SQUARE_ROOT, c(Op.ADD, a["variance"], a["epsilon"])))
    if "gamma" in a:
        scale = c(Op.MULTIPLY, scale, a["gamma"])
    shift = c(Op.SUBTRACT, a.get("beta", 0.0), c(Op.MULTIPLY, a["mean"], scale))
    return c(Op.ADD, c(Op.MULTIPLY, a["input"], scale), shift)


__all__ = ["normalised"]
