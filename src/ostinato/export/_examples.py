"""Example calls in a file: how arguments nest in its metadata; the bytes of tensors in entries of their own.

No pickle: a tensor is its dtype, its shape and the name of the entry, which holds its elements in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree as pytree

from .._errors import fail
from ._attributes import as_bytes
from ._metadata import VariantInfo
from ._signature import dtype_name, matches
from ._vet import VettedArchive

MOST_BYTES = 1 << 20  # of all tensors of a call: an example is there to be tried, not to be shipped
Call = tuple[tuple[Any, ...], dict[str, Any]]
Tree = dict[str, Any]


class Packed(NamedTuple):
    """A call as `VariantInfo.example` documents it, and the bytes of its tensors."""

    tree: Tree
    entries: dict[str, bytes]


def packed(call: Call, model: str) -> Packed | None:
    """A call of the program ``model``; None where its tensors hold too much, or have no values here."""
    tensors = [leaf for leaf in pytree.tree_leaves(call) if isinstance(leaf, torch.Tensor)]
    if not all(map(_is_plain, tensors)) or sum(each.nbytes for each in tensors) > MOST_BYTES:
        return None
    entries: dict[str, bytes] = {}

    def leaf(tensor: torch.Tensor) -> Tree:
        name = f"{model}/{len(entries)}"
        entries[name] = as_bytes(tensor).numpy().tobytes()
        return {"dtype": dtype_name(tensor.dtype), "shape": list(tensor.shape), "entry": name}

    args, kwargs = call
    return Packed({"args": _packed(args, leaf), "kwargs": _packed(kwargs, leaf)}, entries)


def _is_plain(tensor: torch.Tensor) -> bool:
    return type(tensor.data) is torch.Tensor and not isinstance(tensor, FakeTensor) and _has_bytes(tensor)


def _has_bytes(tensor: torch.Tensor) -> bool:
    return tensor.device.type == "cpu" and tensor.layout == torch.strided and not tensor.is_quantized


def _packed(value: Any, leaf: Callable[[torch.Tensor], Tree]) -> Tree:
    if isinstance(value, torch.Tensor):
        return {"tensor": leaf(value)}
    if isinstance(value, dict):
        return {"dict": {key: _packed(item, leaf) for key, item in value.items()}}
    if isinstance(value, (tuple, list)):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [_packed(item, leaf) for item in value]}
    return {"value": value}


def example_of(archive: VettedArchive, info: VariantInfo) -> Call | None:
    """The example call of a variant in a file, None where it has none; ArchiveError where it does not fit."""
    if info.example is None:
        return None
    left = {name for name in archive.examples if name.rpartition("/")[0] == info.model}

    def read(name: str) -> Any:
        if name not in left:  # each but once: a file of ten tensors is no call of a million
            raise ValueError(f"the example has no entry {name}, or has it twice")
        left.remove(name)
        return archive.example(name)

    try:
        call = _unpacked(info.example["args"], read), _unpacked(info.example["kwargs"], read)
        if not matches(info.inputs, *call):
            raise ValueError("the example is none of the variant")
    except (ValueError, RuntimeError) as error:
        what = f"{info.model}: {str(error).splitlines()[0]}"
        raise fail("export.bad_metadata", path=archive.path, what=what) from None
    return call


def _unpacked(tree: Tree, read: Callable[[str], Any]) -> Any:
    ((kind, value),) = tree.items()
    if kind == "tensor":
        return _tensor(value, read(value["entry"]))
    if kind == "value":
        return value
    if kind == "dict":
        return {key: _unpacked(item, read) for key, item in value.items()}
    items = [_unpacked(item, read) for item in value]
    return items if kind == "list" else tuple(items)


def _tensor(about: Tree, content: Any) -> torch.Tensor:
    dtype, shape = getattr(torch, about["dtype"]), about["shape"]
    if len(content) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{about['entry']} has not the bytes of {about['dtype']}{shape}")
    if not len(content):
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(content, dtype=torch.uint8).view(dtype).reshape(shape)
