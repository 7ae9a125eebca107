"""Pieces of a capture that a replay may leave out or repeat: the bodies of conditions and loops."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable
from typing import Any

import torch

from ._guard import below_autograd
from ._program import AnyNode, leaves, map_tensors
from ._random import Points
from ._restore import Snapshots
from ._schema import OpOverload, rule, written


class Scope:
    """What was recorded in one body, and what it takes to undo what the body did."""

    def __init__(
        self, recorder: weakref.ref[Any], first: int, real: bool, continues: Iterable[Scope] = ()
    ) -> None:
        self.recorder = recorder
        self.nodes: list[AnyNode] = []
        self.first = first  # storages of this number and above were first met inside
        self.real = real  # whether the values are those that eager would have here
        self.snapshots = Snapshots()
        self.open = 0  # how often it is under way; only then may what it made be used
        self.points: dict[int, Points] = {}  # states of generators that it knew in the end
        self.sources: dict[Any, torch.Tensor] = {}  # tensors that autograd follows and that it used, by edge
        # Scopes that ran before this one whenever this one runs, such as the forward of a backward.
        self.continues = tuple(continues)

    def opened(self, by: int) -> None:
        """Counts that this scope, and those that it continues, are entered (1) or left (-1)."""
        self.open += by
        for scope in self.continues:
            scope.opened(by)

    def note_sources(self, inputs: list[torch.Tensor]) -> None:
        """Remembers the tensors that autograd follows, for ``Tape``."""
        for tensor in inputs:
            if tensor.requires_grad and (node := tensor.grad_fn) is not None:
                self.sources.setdefault((node, tensor.output_nr), tensor)


def stand_in(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Results that look like those of a call which fails on the values of the moment.

    Raises what torch raises where it is not the values that ``op`` does not take.
    """
    changed = leaves(written(rule(op), args, kwargs))
    with below_autograd():
        moved = map_tensors(args, _without_values)
        out = op(*moved, **{name: map_tensors(v, _without_values) for name, v in kwargs.items()})
        if changed:  # they are what such an operator returns
            return None if out is None else changed[0] if isinstance(out, torch.Tensor) else tuple(changed)
        return map_tensors(out, _zeros)


def _without_values(tensor: torch.Tensor) -> torch.Tensor:
    empty = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
    empty = torch._conj(empty) if tensor.is_conj() else empty
    return torch._neg_view(empty) if tensor.is_neg() else empty


def _zeros(tensor: torch.Tensor) -> torch.Tensor:
    made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    return made.zero_() if math.prod(tensor.shape) else made
