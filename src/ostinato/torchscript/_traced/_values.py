"""Values of two branches, or two rounds, as one: which are tensors of the program, which stay in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch


class Unset:
    """What a variable holds before it is assigned, and what a branch that cannot be left leaves behind."""

    def __repr__(self) -> str:
        return "unset"


UNSET = Unset()
_NUMBERS = (bool, int, float, torch.SymInt, torch.SymFloat, torch.SymBool)
_DTYPES = {
    bool: torch.bool,
    torch.SymBool: torch.bool,
    int: torch.int64,
    torch.SymInt: torch.int64,
    float: torch.float64,
    torch.SymFloat: torch.float64,
}


class Differ(Exception):
    """Two values that no program can hold in one place; the text says why."""


@dataclass(frozen=True)
class Kind:
    """A tensor of the program: what both values are brought to."""

    dtype: torch.dtype
    shape: torch.Size


def is_number(value: Any) -> bool:
    """Whether a value can become a tensor without dimensions."""
    return isinstance(value, _NUMBERS)


def alike(first: Any, second: Any) -> bool:
    """Whether two values are one constant of Python."""
    if first is second:
        return True
    if isinstance(first, (bool, int, float, str)) and type(first) is type(second):
        return bool(first == second)
    return False


def kind_of(first: Any, second: Any) -> Kind:
    """The tensor that stands for either value. Raises Differ."""
    if isinstance(first, Unset) or isinstance(second, Unset):
        first = second = second if isinstance(first, Unset) else first
    for value in (first, second):
        if not isinstance(value, torch.Tensor) and not is_number(value):
            what = " and ".join(sorted(_told(each) for each in (first, second)))
            raise Differ(f"is {what}")
    tensors = [each for each in (first, second) if isinstance(each, torch.Tensor)]
    if len(tensors) == 2 and first.dtype != second.dtype and (first.dim() or second.dim()):
        raise Differ(f"is a {_told(first)} in one and a {_told(second)} in the other")
    dtypes = [
        each.dtype if isinstance(each, torch.Tensor) else _DTYPES[type(each)] for each in (first, second)
    ]
    shapes = [each.shape if isinstance(each, torch.Tensor) else torch.Size(()) for each in (first, second)]
    if not _same_shape(*shapes):
        raise Differ(f"has the shape {list(shapes[0])} in one and {list(shapes[1])} in the other")
    if dtypes[0] == dtypes[1]:
        return Kind(dtypes[0], shapes[0])
    return Kind(torch.promote_types(*dtypes), shapes[0])


def _same_shape(first: torch.Size, second: torch.Size) -> bool:
    if len(first) != len(second):
        return False
    for a, b in zip(first, second, strict=True):
        if isinstance(a, torch.SymInt) or isinstance(b, torch.SymInt):
            if str(a) != str(b) and bool(a != b):
                return False
        elif a != b:
            return False
    return True


def as_tensor(value: Any, kind: Kind) -> torch.Tensor:
    """A value as a tensor of this kind."""
    if isinstance(value, torch.Tensor):
        return value if value.dtype == kind.dtype else value.to(kind.dtype)
    if isinstance(value, Unset):
        return torch.zeros(kind.shape, dtype=kind.dtype)
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        number = torch.sym_ite(value, 1, 0) if isinstance(value, torch.SymBool) else value
        made: torch.Tensor = torch.ops.aten.scalar_tensor.default(number, dtype=kind.dtype)
        return made
    return torch.full((), value, dtype=kind.dtype)


def _told(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return "None" if value is None else f"a {type(value).__name__}"
