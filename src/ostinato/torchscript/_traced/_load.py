"""``load``, for tracing: the same objects over functions whose control flow a program can hold."""

from __future__ import annotations

import ast
import functools
import os
from collections.abc import Callable
from typing import Any

import torch

from .._archive import Archive
from .._load import Loader
from .._program import Program
from ._branches import UNSET, branch, count, is_open, loop, negated, raise_exception
from ._forms import traceable


def load_for_tracing(path: str | os.PathLike[str]) -> torch.nn.Module:
    """The module that `load` gives, which ``torch.export`` can trace through conditions and loops on tensors.

    Called, it does the same. Raises as `load` does.
    """
    with Archive(path) as archive:
        program = Program(archive)
        for unit in program.units:
            unit.tree = traceable(unit)
        loader = Loader(program, _replaced)
        root = loader.module()
    for name, method in program.classes[program.data.cls].methods.items():
        if name in vars(type(root)) and _numbers(method.node.returns):
            setattr(type(root), name, _answering(vars(type(root))[name], method.node.returns))
    return root


def _numbers(kind: ast.expr | None) -> bool:
    """Whether a type has numbers in it."""
    return kind is not None and any(
        isinstance(each, ast.Name) and each.id in ("int", "float", "bool") for each in ast.walk(kind)
    )


def _answering(function: Callable[..., Any], kind: ast.expr | None) -> Callable[..., Any]:
    """The method, with numbers where its type says so: in a program they have been tensors so far."""

    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        return _answer(function(*args, **kwargs), kind)

    return method


def _answer(value: Any, kind: ast.expr | None) -> Any:
    if isinstance(kind, ast.Name) and kind.id in ("int", "float", "bool"):
        return value.item() if isinstance(value, torch.Tensor) and is_open(value) else value
    if isinstance(kind, ast.Subscript) and isinstance(value, (tuple, list)):
        parts = kind.slice.elts if isinstance(kind.slice, ast.Tuple) else [kind.slice] * len(value)
        if len(parts) == len(value):
            return type(value)(_answer(each, part) for each, part in zip(value, parts, strict=True))
    return value


def _replaced(functions: dict[str, Any]) -> dict[str, Any]:
    """The functions of operators, those that ask a tensor for its value by others, and the new primitives."""
    made = dict(functions)
    numbers: tuple[tuple[str, torch.dtype | None], ...] = (
        ("aten__Bool", torch.bool),
        ("aten__Int", torch.int64),
        ("aten__Float", torch.float64),
        ("aten__IntImplicit", torch.int64),
        ("aten__FloatImplicit", torch.float64),
        ("aten__ScalarImplicit", None),
        ("aten__item", None),
        ("prim__ImplicitTensorToNum", None),
        ("prim__bool", torch.bool),
        ("prim__float", torch.float64),
        ("prim__int", torch.int64),
    )
    for name, dtype in numbers:
        if name in made:
            made[name] = _number(made[name], dtype)
    if "prim__RaiseException" in made:
        made["prim__RaiseException"] = raise_exception(made["prim__RaiseException"])
    for name in ("aten__select", "aten__slice", "aten__getitem__"):
        if name in made:
            made[name] = _indexed(made[name])
    for name, function in (("max", torch.maximum), ("min", torch.minimum)):
        for known in (f"aten__{name}", f"prim__{name}"):
            if known in made:
                made[known] = _extreme(made[known], function)
    made.update(prim__branch=branch, prim__loop=loop, prim__count=count, prim__not=negated, prim__unset=UNSET)
    return made


def _number(plain: Any, dtype: torch.dtype | None) -> Any:
    """A number of a tensor: the tensor itself, without dimensions, where only the program knows it."""

    def number(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and is_open(value):
            flat = value.reshape(())
            return flat if dtype is None or flat.dtype == dtype else flat.to(dtype)
        return plain(value)

    return number


def _indexed(plain: Any) -> Any:
    """Selection by a number that may be a tensor."""

    def indexed(value: Any, *arguments: Any) -> Any:
        if not any(isinstance(each, torch.Tensor) and is_open(each) for each in arguments):
            return plain(value, *arguments)
        if isinstance(value, torch.Tensor) and len(arguments) == 2:
            return _at(value, *arguments)
        if isinstance(value, list) and len(arguments) == 1:  # of tensors of one shape, or of numbers
            return _at(torch.stack([torch.as_tensor(each) for each in value]), 0, arguments[0])
        return plain(value, *(each.item() if isinstance(each, torch.Tensor) else each for each in arguments))

    return indexed


def _at(value: torch.Tensor, dim: int, index: torch.Tensor) -> torch.Tensor:
    # Not select, whose result would have a place in memory that nobody knows.
    at = torch.where(index < 0, index + value.size(dim), index)
    return torch.index_select(value, dim, at.reshape(1)).squeeze(dim)


def _extreme(plain: Any, function: Any) -> Any:
    """The larger or smaller of two numbers, either of which may be a tensor."""

    def extreme(first: Any, *rest: Any, **named: Any) -> Any:
        if (
            len(rest) == 1
            and isinstance(rest[0], torch.Tensor)
            and not isinstance(first, (torch.Tensor, list))
        ):
            return function(torch.as_tensor(first, dtype=rest[0].dtype), rest[0])
        number = len(rest) == 1 and isinstance(rest[0], (int, float)) and isinstance(first, torch.Tensor)
        if number and first.dim() == 0 and is_open(first):
            return function(first, torch.as_tensor(rest[0], dtype=first.dtype))
        return plain(first, *rest, **named)

    return extreme
