"""Which sizes of the inputs a program leaves open: by name, or because examples differ in them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._errors import fail

_PLACE = re.compile(r"(?:(?P<argument>\w+)\.)?(?P<dim>\d+)")
Calls = list[tuple[Any, ...]]


def named(dynamic: Mapping[str, str], args: tuple[Any, ...], names: Sequence[str]) -> Any:
    """What ``torch.export`` is told for ``{"0": "batch", "x.1": "time", "1.0": "rows"}``.

    A key is a dimension of every tensor that has it, or of one argument, by name or number; equal names are
    one size. UsageError for a key that fits nothing.
    """
    for key, name in dynamic.items():
        if not name.isidentifier():
            raise fail("deployment.dynamic", key=key, name=name, known=", ".join(names))
    dims = {name: torch.export.Dim(name) for name in dict.fromkeys(dynamic.values())}
    leaves, spec = pytree.tree_flatten(args)
    owners = [at for at, each in enumerate(args) for _ in pytree.tree_leaves(each)]
    found: list[dict[int, Any] | None] = [{} if isinstance(each, torch.Tensor) else None for each in leaves]
    for key, name in dynamic.items():
        match = _PLACE.fullmatch(key)
        fits = False
        for leaf, owner, dims_of in zip(leaves, owners, found, strict=True):
            asked = match and match["argument"]
            mine = not asked or asked in (str(owner), names[owner] if owner < len(names) else None)
            if match and mine and dims_of is not None and int(match["dim"]) < leaf.dim():
                dims_of[int(match["dim"])] = dims[name]
                fits = True
        if not fits:
            raise fail("deployment.dynamic", key=key, name=name, known=", ".join(names))
    return pytree.tree_unflatten([each or None for each in found], spec)


def grouped(calls: Calls) -> list[tuple[Calls, Any]]:
    """Examples that differ in sizes alone, together: the calls, largest first, and what may vary."""
    groups: dict[Any, Calls] = {}
    for call in calls:
        leaves, spec = pytree.tree_flatten(call)
        key = (str(spec), tuple(_kind(each) for each in leaves))
        groups.setdefault(key, []).append(call)
    return [_varying(each) for each in groups.values()]


def _kind(leaf: Any) -> Any:
    return (leaf.dtype, leaf.dim()) if isinstance(leaf, torch.Tensor) else repr(leaf)


def _varying(calls: Calls) -> tuple[Calls, Any]:
    calls = sorted(calls, key=_elements, reverse=True)
    rows = [pytree.tree_flatten(each) for each in calls]
    spec = rows[0][1]
    names: dict[tuple[int, ...], Any] = {}
    shapes: list[Any] = []
    for leaves in zip(*(row[0] for row in rows), strict=True):
        varying = {}
        if isinstance(leaves[0], torch.Tensor):
            for dim in range(leaves[0].dim()):
                sizes = tuple(each.shape[dim] for each in leaves)
                if len(set(sizes)) > 1:
                    varying[dim] = names.setdefault(sizes, torch.export.Dim(f"size_{len(names)}"))
        shapes.append(varying or None)
    if not names:
        return calls, None
    return calls, pytree.tree_unflatten(shapes, spec)


def _elements(call: tuple[Any, ...]) -> int:
    return sum(each.numel() for each in pytree.tree_leaves(call) if isinstance(each, torch.Tensor))
