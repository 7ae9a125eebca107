"""What a module keeps between calls: every attribute and buffer of its tree, as it is at one moment."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.utils import _pytree as pytree

from ._signature import dtype_name
from ._vet import STAND_INS

# What every module has, and `training`, which a call does not keep state in.
_INTERNAL = frozenset(vars(torch.nn.Module()))


class Address(NamedTuple):
    """Where a value lives: the path of its module in the tree, and the attribute's name."""

    module: str
    name: str

    @property
    def dotted(self) -> str:
        return f"{self.module}.{self.name}" if self.module else self.name


@dataclass(frozen=True)
class Value:
    """A value taken apart: how its tuples, lists and dicts nest, and its leaves, tensors copied."""

    spec: pytree.TreeSpec
    leaves: list[Any]


Snapshot = dict[Address, Value]


def snapshot(module: torch.nn.Module) -> Snapshot:
    """All attributes and buffers of the tree."""
    return {
        Address(path, name): taken(value)
        for path, each in module.named_modules()
        for name, value in own(each).items()
    }


def own(module: torch.nn.Module) -> dict[str, Any]:
    """The attributes and buffers of one module, without those that every module has."""
    attributes = {name: value for name, value in vars(module).items() if name not in _INTERNAL}
    return {**attributes, **module._buffers}


def taken(value: Any) -> Value:
    leaves, spec = pytree.tree_flatten(value)
    return Value(spec, [_copied(leaf) for leaf in leaves])


def _copied(leaf: Any) -> Any:
    watched = isinstance(leaf, torch.Tensor) and not isinstance(leaf, torch.nn.Parameter)
    return copied(leaf) if watched else leaf


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """A copy, also of a dtype that has no operators."""
    other = STAND_INS.get(dtype_name(tensor.dtype))
    if other is None:
        return tensor.detach().clone()
    return tensor.detach().view(getattr(torch, other)).clone().view(tensor.dtype)


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The elements as uint8, which every dtype can be compared as."""
    flat = copied(tensor).resolve_conj().resolve_neg().reshape(-1)
    return flat.view(torch.uint8)


def put(module: torch.nn.Module, name: str, value: Any) -> None:
    """Set an attribute or buffer where it lives, past what ``__setattr__`` would do."""
    (module._buffers if name in module._buffers else vars(module))[name] = value


def same(first: Any, second: Any) -> bool:
    """Whether two leaves are equal; tensors bit for bit in value, shape and dtype."""
    if first is second:
        return True
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor):
        return alike(first, second) and torch.equal(as_bytes(first), as_bytes(second))
    if isinstance(first, float) and isinstance(second, float) and math.isnan(first):
        return math.isnan(second)
    if isinstance(first, (int, float, str, complex)) and type(first) is type(second):
        return bool(first == second)
    return False


def alike(first: Any, second: Any) -> bool:
    """Whether two leaves are tensors of one shape, dtype and device."""
    return (
        isinstance(first, torch.Tensor)
        and isinstance(second, torch.Tensor)
        and first.shape == second.shape
        and first.dtype == second.dtype
        and first.device == second.device
    )


def equal(first: Value | None, second: Value | None) -> bool:
    if first is None or second is None:
        return first is second
    return first.spec == second.spec and all(map(same, first.leaves, second.leaves))


def plain(leaf: Any) -> bool:
    """Whether a leaf can be looked into."""
    return leaf is None or isinstance(
        leaf, (torch.Tensor, int, float, str, bool, complex, torch.dtype, torch.device)
    )
