"""The signature of a call: what a graph captured for it can be used for again."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._errors import fail

_PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device, torch.layout)


def flatten(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    """Leaves of the arguments and their structure; flat positional arguments take the short way."""
    if not kwargs and all(isinstance(a, (torch.Tensor, *_PLAIN)) for a in args):
        return list(args), len(args)
    return pytree.tree_flatten((args, kwargs))


def unflatten(leaves: list[Any], structure: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments again."""
    if isinstance(structure, int):
        return tuple(leaves), {}
    args, kwargs = pytree.tree_unflatten(leaves, structure)
    return args, kwargs


def of_leaf(leaf: Any) -> Any:
    """What must be equal for two leaves to share a graph. UsageError for what has no such thing."""
    if isinstance(leaf, torch.Tensor):
        return leaf.shape, leaf.dtype, leaf.stride(), leaf.device, leaf.requires_grad
    if isinstance(leaf, _PLAIN):
        # 1, 1.0 and True are equal in Python and not in a program.
        return type(leaf), leaf
    if isinstance(leaf, torch.nn.Module):
        return id(leaf), tuple(m.training for m in leaf.modules())
    raise fail("accelerator.graphed_argument", type=type(leaf).__name__)


def of_modes(leaves: list[Any]) -> tuple[Any, ...]:
    """The modes of torch that change what a call with these leaves runs."""
    kind = next((x.device.type for x in leaves if isinstance(x, torch.Tensor)), "cpu")
    autocast = torch.is_autocast_enabled(kind)
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.get_autocast_dtype(kind) if autocast else None,
        torch.get_default_dtype(),
    )
