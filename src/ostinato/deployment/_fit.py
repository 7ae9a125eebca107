"""From the content of a file to calls that a model takes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._errors import fail
from ._files import Content
from ._misfit import Misfit, fits, text
from ._pieces import pieces

Args = tuple[Any, ...]


@dataclass(frozen=True)
class Taken:
    """A call that the model takes; ``open`` are the sizes that may differ, (argument, dimension)."""

    args: Args
    open: frozenset[tuple[int, int]] = frozenset()


def calls(content: Content, names: Sequence[str], taken: Sequence[Taken]) -> list[Args]:
    """The calls, in order, that ``content`` makes of one of ``taken``; ``names`` are those of the arguments.

    Arrays and tensors are whole arguments, by name or in order; one with more
    rows than the argument has, by a whole factor, is that many calls. Sound is
    cut into pieces of the argument's length, a table into its rows, a picture
    becomes channels in [0, 1]: they are the first tensor. What a file does not
    have is taken from ``taken``. UsageError where none fits.
    """
    if content.kind in ("npz", "pt"):
        found = [
            _fewest(content, taken, functools.partial(_whole, given, names))
            for given in _given(content, names)
        ]
        return [call for row in found for call in row]
    return _fewest(content, taken, functools.partial(_around, content, names))


def _fewest(content: Content, taken: Sequence[Taken], fit: Callable[[Taken], list[Args]]) -> list[Args]:
    """The fewest calls that one of ``taken`` makes: what fits as it is goes before what is cut up."""
    made, misfits = [], []
    for each in taken:
        try:
            made.append(fit(each))
        except Misfit as error:
            misfits.append(error)
    if made:
        return min(made, key=len)
    first = misfits[0]
    others = "" if len(taken) == 1 else f" (or what another of {len(taken)} variants does)"
    raise fail(
        "deployment.misfit", path=content.name, name=first.name, got=first.got, wanted=first.wanted + others
    )


def open_sizes(inputs: Mapping[str, Any]) -> frozenset[tuple[int, int]]:
    """(argument, dimension) of the sizes that vary, of what `ost.export.describe` says of a program."""
    shapes = [tree.get("tensor", {}).get("shape", ()) for tree in inputs["args"]["tuple"]]
    return frozenset(
        (i, d) for i, shape in enumerate(shapes) for d, size in enumerate(shape) if isinstance(size, dict)
    )


def complete(content: Content, names: Sequence[str], required: int) -> list[Args] | None:
    """The calls of a content that holds every argument itself; None where it does not."""
    if content.kind not in ("npz", "pt"):
        return None
    found = []
    for given in _given(content, names):
        count = len(given)
        if count < required or sorted(given) != list(range(count)):
            return None
        found.append(tuple(given[i] for i in range(count)))
    return found


def _given(content: Content, names: Sequence[str]) -> list[dict[int, Any]]:
    """For each call of the file, position → argument."""
    value = content.value
    if isinstance(value, list) and value and all(isinstance(each, (tuple, dict)) for each in value):
        return [_placed(content, each, names) for each in value]
    return [_placed(content, value, names)]


def _placed(content: Content, value: Any, names: Sequence[str]) -> dict[int, Any]:
    if isinstance(value, (tuple, list)):
        return dict(enumerate(value))
    if not isinstance(value, dict):
        return {0: value}
    if all(key == f"arr_{i}" for i, key in enumerate(value)):  # as NumPy calls those without a name
        return dict(enumerate(value.values()))
    unknown = [str(key) for key in value if key not in names]
    if unknown:
        raise fail(
            "deployment.data_names", path=content.name, name=unknown[0], known=", ".join(names) or "none"
        )
    return {names.index(key): each for key, each in value.items()}


def _whole(given: Mapping[int, Any], names: Sequence[str], taken: Taken) -> list[Args]:
    if len(given) and max(given) >= len(taken.args):
        raise Misfit(f"number {max(given)}", "one too many", f"{len(taken.args)} arguments")
    columns = []
    for i, wanted in enumerate(taken.args):
        name = names[i] if i < len(names) else str(i)
        open_ = {dimension for argument, dimension in taken.open if argument == i}
        columns.append(_rows(name, given[i], wanted, open_) if i in given else [wanted])
    count = max((len(each) for each in columns), default=1)
    for i, column in enumerate(columns):
        if len(column) not in (1, count):
            raise Misfit(names[i], f"{len(column)} calls", f"as many as the others, {count}")
    return [tuple(column[i % len(column)] for column in columns) for i in range(count)]


def _rows(name: str, value: Any, wanted: Any, open_: set[int]) -> list[Any]:
    """The argument, once a call."""
    if isinstance(wanted, torch.Tensor) and isinstance(value, torch.Tensor):
        if value.dtype == wanted.dtype:
            if fits(value.shape, wanted.shape, open_):
                return [value]
            if value.dim() == wanted.dim() + 1 and fits(value.shape[1:], wanted.shape, open_):
                return list(value)
            if value.dim() and fits(value.shape[1:], wanted.shape[1:], {d - 1 for d in open_}):
                rows = wanted.shape[0]
                if rows and value.shape[0] and value.shape[0] % rows == 0:
                    return list(value.split(rows))
        raise Misfit(name, text(value), text(wanted))
    if isinstance(value, torch.Tensor) and not value.dim():
        value = value.item()  # a number in an array
    if not _same_kind(value, wanted):
        raise Misfit(name, text(value), text(wanted))
    return [value]


def _same_kind(value: Any, wanted: Any) -> bool:
    first, second = pytree.tree_flatten(value), pytree.tree_flatten(wanted)
    return first[1] == second[1] and all(
        a.dtype == b.dtype and a.shape == b.shape
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
        else type(a) is type(b) and a == b
        for a, b in zip(first[0], second[0], strict=True)
    )


def _around(content: Content, names: Sequence[str], taken: Taken) -> list[Args]:
    """The pieces of the content, each among the other arguments of ``taken``."""
    place, tensors = pieces(content, names, taken.args, taken.open)
    return [(*taken.args[:place], each, *taken.args[place + 1 :]) for each in tensors]


__all__ = ["Args", "Taken", "calls", "complete", "open_sizes"]
