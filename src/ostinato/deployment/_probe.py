"""Finds example inputs for a method by trying what its signature and its sizes suggest."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ._parameters import Parameter
from ._shapes import Shapes
from ._undo import Undo

TRIALS = 4000
SECONDS = 10.0
_KEPT = 4  # a number that more values suit than this is a quantity, and no choice of a variant


@dataclass(frozen=True)
class Guess:
    """Example calls of one method, the primary first, and how many were tried to find them."""

    variants: list[tuple[Any, ...]]
    trials: int


def guess(
    module: torch.nn.Module,
    method: str,
    parameters: list[Parameter],
    constants: list[int],
    *,
    trials: int = TRIALS,
    seconds: float = SECONDS,
) -> Guess:
    """Arguments with which ``method`` runs twice in a row; none where nothing fits in the given bounds.

    Whole numbers are taken from their default and from ``constants``. For every
    value that works the first fitting shapes are kept, those of more elements
    before those of fewer.
    """
    required = [each for each in parameters if each.required]
    shapes = Shapes(module, constants)
    choices = [_choices(each, constants) for each in required]
    pending = list(itertools.product(*(each for each in choices if each is not None)))
    accepted: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    undo = Undo(module)
    function = getattr(module, method)
    deadline = time.monotonic() + seconds
    tried = 0
    generator = torch.Generator().manual_seed(0)
    for tensors in shapes.combinations([each for each in required if _is_tensor(each)], generator):
        for chosen in list(pending):
            if tried >= trials or time.monotonic() > deadline:
                return Guess(_ranked(accepted), tried)
            tried += 1
            args = _merged(choices, tensors, chosen)
            if _runs(function, args, undo):
                accepted[chosen] = args
                pending.remove(chosen)
        if not pending or len(accepted) > _KEPT:
            break
    return Guess(_ranked(accepted), tried)


def _is_tensor(parameter: Parameter) -> bool:
    return parameter.kind in ("tensor", "tensors")


def _choices(parameter: Parameter, constants: list[int]) -> list[Any] | None:
    """The values to try; None for what takes tensors."""
    if _is_tensor(parameter):
        return None
    if parameter.kind == "int":
        return sorted(set(constants) | {1}, reverse=True)
    values: dict[str, list[Any]] = {"bool": [False, True], "float": [1.0], "str": [""]}
    return values.get(parameter.kind, [None])


def _merged(
    choices: list[list[Any] | None], tensors: tuple[Any, ...], chosen: tuple[Any, ...]
) -> tuple[Any, ...]:
    some, other = iter(tensors), iter(chosen)
    return tuple(next(some) if each is None else next(other) for each in choices)


def _runs(function: Any, args: tuple[Any, ...], undo: Undo) -> bool:
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(2):  # state that the first call leaves may stop the second
                function(*args)
    except Exception:  # whatever a model says to arguments that it does not take
        return False
    finally:
        undo()
    return True


def _ranked(accepted: dict[tuple[Any, ...], tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    found = list(accepted.values())
    if len(found) > _KEPT:
        return found[:1]
    return sorted(found, key=_elements, reverse=True)


def _elements(args: tuple[Any, ...]) -> int:
    return sum(each.numel() for each in _tensors(args))


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from _tensors(each)
