"""Batch norms by statistics that were gathered before: what they are given."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from .._program import Node, Value

_aten = torch.ops.aten


@dataclasses.dataclass(frozen=True, slots=True)
class BatchNorm:
    """``(input - mean) / sqrt(variance + epsilon) * gamma + beta``; a number a channel each."""

    input: Value
    gamma: Value | None
    beta: Value | None
    mean: Value
    variance: Value
    epsilon: float

    @property
    def numbers(self) -> tuple[Value | None, Value | None, Value | None, Value | None, float]:
        """As the kernel of convolutions takes them."""
        return self.mean, self.variance, self.gamma, self.beta, self.epsilon

    @property
    def values(self) -> list[Value]:
        """Those that have a number a channel."""
        return [v for v in (self.gamma, self.beta, self.mean, self.variance) if v is not None]


# Whether it is none for training, and where epsilon stands.
_FORMS: dict[Any, tuple[Callable[[Node], bool], int]] = {
    _aten.native_batch_norm.default: (lambda node: not node.args[5], 7),
    _aten._native_batch_norm_legit_no_training.default: (lambda node: True, 6),
}


def batch_norm(node: Node) -> BatchNorm | None:
    """What ``node`` is given, if it is a batch norm that neither gathers statistics nor saves any."""
    still, epsilon = _FORMS.get(node.op, (None, 0))
    if still is None or node.kwargs or not still(node):
        return None
    x, gamma, beta, mean, variance = node.args[:5]
    if mean is None or variance is None:
        return None
    # Statistics that only a training batch norm saves: empty, and of no use to anybody.
    if any(v.sizes != (0,) for v in node.outputs[1:]):
        return None
    return BatchNorm(x, gamma, beta, mean, variance, float(node.args[epsilon]))


__all__ = ["BatchNorm", "batch_norm"]
