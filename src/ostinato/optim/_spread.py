"""Parameters that are spread over processes (``DTensor``): each process updates the part in its memory."""

from __future__ import annotations

import sys
from typing import Any

import torch


def is_spread(tensor: Any) -> bool:
    module = sys.modules.get("torch.distributed.tensor")  # without it there are none
    return module is not None and isinstance(tensor, module.DTensor)


def part(tensor: Any) -> torch.Tensor:
    """What of a tensor lies here; all of one that is not spread."""
    local: torch.Tensor = tensor.to_local() if is_spread(tensor) else tensor
    return local


def parted_alike(param: Any, grad: Any) -> bool:
    """Whether the part of a gradient here belongs to the part of its parameter here, and is complete."""
    if not is_spread(param) and not is_spread(grad):
        return True
    if not is_spread(param) or not is_spread(grad):
        return False
    whole = not any(p.is_partial() for p in (*param.placements, *grad.placements))
    return bool(whole and param.placements == grad.placements and param.device_mesh == grad.device_mesh)


def norm_of_all_parts(grads: list[Any]) -> list[torch.Tensor]:
    """The norms of gradients that are spread, one for each mesh of processes; all of them must ask for it."""
    meshes: dict[Any, list[Any]] = {}
    for grad in grads:
        meshes.setdefault(grad.device_mesh, []).append(grad)
    norms: list[Any] = [torch.nn.utils.get_total_norm(some) for some in meshes.values()]
    return [norm.full_tensor() for norm in norms]
