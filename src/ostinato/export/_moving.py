"""Which operators move elements about without looking at them."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import torch
from torch.utils import _pytree as pytree

# What they give has the elements of their first argument, or none at all (sizes, new memory, zeros).
_FROM_ONE = (
    "view view_as reshape reshape_as flatten unflatten _unsafe_view _reshape_alias alias detach t numpy_T",
    "clone contiguous lift_fresh_copy transpose permute movedim swapaxes expand expand_as broadcast_to",
    "unsqueeze squeeze select slice narrow split split_with_sizes chunk tensor_split unbind diagonal",
    "index index_select gather take_along_dim embedding flip roll repeat tile repeat_interleave",
    "as_strided unfold empty empty_like empty_strided empty_permuted new_empty new_empty_strided zeros",
    "zeros_like new_zeros sym_size sym_stride sym_numel sym_storage_offset _assert_tensor_metadata",
)
# These put together the elements of several tensors of one dtype.
_FROM_SEVERAL = (
    "cat concat stack hstack vstack where copy copy_ select_scatter slice_scatter diagonal_scatter scatter",
    "index_put index_copy",
)
_ONE, _SEVERAL = (frozenset(" ".join(lines).split()) for lines in (_FROM_ONE, _FROM_SEVERAL))


def only_moves(node: torch.fx.Node, dtypes: Container[torch.dtype]) -> bool:
    """Whether ``node`` does the same to tensors of ``dtypes`` as to any others of their width."""
    taken = _tensors(pytree.tree_leaves((node.args, node.kwargs)))
    given = _tensors(pytree.tree_leaves(node.meta.get("val")))
    if not any(each.dtype in dtypes for each in (*taken, *given)):
        return True
    target = node.target
    if not isinstance(target, torch._ops.OpOverload):
        return (
            True  # inputs, outputs, the parts of a result, control flow: its graphs are looked at themselves
        )
    if target.namespace != "aten":
        return False
    name = target.__name__.split(".")[0]
    if target is torch.ops.aten.view.dtype:
        return True
    if name in _SEVERAL:
        data = {each.dtype for each in (*taken, *given) if each.dtype not in (torch.bool, torch.int64)}
        return len(data) == 1
    if name not in _ONE:
        return False
    if not taken:
        return True
    first, *others = (each.dtype in dtypes for each in taken)
    return not any(others) and all(each.dtype == taken[0].dtype for each in given if first)


def _tensors(leaves: list[Any]) -> list[torch.Tensor]:
    values = [leaf.meta.get("val") if isinstance(leaf, torch.fx.Node) else leaf for leaf in leaves]
    return [each for each in values if isinstance(each, torch.Tensor)]


__all__ = ["only_moves"]
