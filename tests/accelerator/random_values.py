"""The tensors that random programs start from, and the names that their lines may use."""

from __future__ import annotations

import torch
from torch.utils import _pytree as pytree

SEED = 0  # of torch's generator, from which modules take their first weights

# What a kernel must treat as eager does: each lane of a vector may be one of these.
SPECIAL = (float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e-40, -1e-42, 3e38, 1.0)


def values(dtype, shape, seed, scale=1.0, layout="contiguous", special=False):
    """Normal numbers, the same for each dtype, laid out in memory as asked."""
    tensor = _zeros(dtype, tuple(shape), layout)
    tensor.recipe = {"scale": scale, "special": special}
    refill(tensor, seed)
    return tensor


def indices(shape, high, seed):
    tensor = torch.empty(shape, dtype=torch.int64)
    tensor.recipe = {"high": high}
    refill(tensor, seed)
    return tensor


def refill(tensor, seed):
    """Other values of the same kind; nothing for a tensor that none of the above made."""
    recipe = getattr(tensor, "recipe", None)
    if recipe is None:
        return
    generator = torch.Generator().manual_seed(seed)
    if "high" in recipe:
        tensor.random_(0, recipe["high"], generator=generator)
        return
    scale, special = recipe["scale"], recipe["special"]
    fresh = torch.randn(tensor.shape, generator=generator) * scale
    if special and fresh.numel():
        count = max(1, fresh.numel() // 8)
        where = torch.randint(0, fresh.numel(), (count,), generator=generator)
        which = torch.randint(0, len(SPECIAL), (count,), generator=generator)
        fresh.view(-1)[where] = torch.tensor(SPECIAL)[which]
    tensor.copy_(fresh)


def _zeros(dtype, shape, layout):
    """Not merely empty: a view of a program (`as_strided`) may read the gaps of this layout."""
    if layout == "transposed":
        return torch.zeros(shape[::-1], dtype=dtype).permute(tuple(reversed(range(len(shape)))))
    if layout == "strided":
        return torch.zeros((*shape, 2), dtype=dtype)[..., 1]
    if layout == "offset":
        return torch.zeros(torch.Size(shape).numel() + 3, dtype=dtype)[3:].view(shape)
    if layout == "channels_last":
        return torch.zeros(shape, dtype=dtype).contiguous(memory_format=torch.channels_last)
    return torch.zeros(shape, dtype=dtype)


def flat(results):
    """The tensors of a nested result, in order."""
    return pytree.tree_leaves(results)


SCOPE = {
    "torch": torch,
    "nn": torch.nn,
    "F": torch.nn.functional,
    "inf": float("inf"),
    "values": values,
    "indices": indices,
    "flat": flat,
}
