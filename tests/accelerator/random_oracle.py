"""Whether a fast result is as good as eager's own, by what the same program gives in float64."""

from __future__ import annotations

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

SLACK = 1e-5  # of the size of an element, and of the tensor where its elements are small
LARGEST = torch.finfo(torch.float32).max
SMALLEST = 2.0**-150  # half of the least that float32 holds
ROUNDING = 2.0**-23


class Rounding(TorchDispatchMode):
    """Makes float64 lose about what float32 loses: every result moves by some rounding errors and keeps to
    the range. Several such runs show where a program amplifies them: no implementation is better there."""

    def __init__(self, seed):
        super().__init__()
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if all(r.alias_info is None or r.alias_info.is_write for r in func._schema.returns):
            for tensor in pytree.tree_leaves(out):
                if isinstance(tensor, torch.Tensor) and tensor.dtype is torch.float64:
                    self._round(tensor)
        return out

    def _round(self, tensor):
        noise = torch.rand(tensor.shape, generator=self._generator, dtype=torch.float64).mul_(2).sub_(1)
        moved = tensor * noise.mul_(ROUNDING).add_(1)
        moved = torch.where(moved.abs() > LARGEST, moved.sign() * float("inf"), moved)
        moved = torch.where(moved.abs() < SMALLEST, moved * 0, moved)
        tensor.copy_(torch.where(moved.isnan(), tensor, moved))


def _kind(tensor):
    """0 where finite, else which: NaN 1, inf 2, -inf 3."""
    return tensor.isnan() + 2 * (tensor == float("inf")) + 3 * (tensor == float("-inf"))


def wrong(fast, eager, truth, rounded=(), slack=SLACK):
    """A mask of the elements of ``fast`` that are not what they should be.

    ``rounded`` holds what the program gives with rounding errors made on purpose. What moves with them is
    allowed to the same extent; where they decide between two outcomes, both are right.
    """
    if not eager.is_floating_point():
        return (fast != eager) & _all_equal([eager, truth, *rounded])
    fast, eager = fast.double(), eager.double()
    kinds = [_kind(t) for t in (eager, truth, *rounded)]
    steady = _all_equal(kinds)
    bad = (_kind(fast) != kinds[0]) & steady
    number = (_kind(fast) == 0) & (kinds[0] == 0) & steady
    size = torch.where(truth.isfinite(), truth, 0.0).abs()
    largest = size.amax() if size.numel() else size.sum()
    errors = [(t - truth).abs() for t in (eager, *rounded)]
    allowed = 4 * torch.stack(errors).amax(0) + slack * (size + largest.clamp(max=1.0))
    return bad | number & ~((fast - truth).abs() <= allowed)


def _all_equal(tensors):
    first = tensors[0]
    same = torch.ones(first.shape, dtype=torch.bool)
    for other in tensors[1:]:
        same &= first == other
    return same
