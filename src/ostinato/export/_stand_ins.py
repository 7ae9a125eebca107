"""Programs without the dtypes that a file cannot name: each tensor of one as another dtype of its width.

Operators that only move elements do not care. The values that were changed are
written down by name, so that `restore` gives them their own dtype again; a stock
torch sees the ones that stand in for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch._export.serde.serialize import _TORCH_TO_SERIALIZE_DTYPE
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from .._errors import fail
from .._lowering import copied, every_node
from ._moving import only_moves
from ._signature import dtype_name
from ._vet import ORDINARY, STAND_INS

Values = dict[str, str]  # name of a value (of a graph inside: "true_graph_0/name") → name of its dtype
_Dtypes = dict[torch.dtype, torch.dtype]
_ASSERTION = torch.ops.aten._assert_tensor_metadata.default


def stand_in(program: ExportedProgram, where: str, portable: bool) -> tuple[ExportedProgram, Values]:
    """``program`` as a file can hold it, and which values have another dtype in truth.

    With ``portable=True`` raises ExportError for an operator that would compute
    with such a value: the dtype that stands in would give another result.
    """
    dtypes = _unnamed(portable)
    if not any(_dtypes_of(node) & dtypes.keys() for _, node in every_node(program.graph_module)):
        return program, {}
    made = copied(program)
    values: Values = {}
    for _, node in every_node(made._graph_module):
        if portable and not only_moves(node, dtypes):
            found = ", ".join(sorted(dtype_name(each) for each in _dtypes_of(node) & dtypes.keys()))
            raise fail("export.unportable_dtype", where=where, operator=node.target, dtype=found)
        _check_recordable(node, dtypes)
    for way, node in every_node(made._graph_module):
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.dtype in dtypes:
            values[way + node.name] = dtype_name(value.dtype)
    for _, node in every_node(made._graph_module):
        if "val" in node.meta:
            node.meta["val"] = pytree.tree_map(lambda leaf: _as(leaf, dtypes), node.meta["val"])
        node.args, node.kwargs = _with_dtypes(node, dtypes)
    made._state_dict = {name: _as(tensor, dtypes) for name, tensor in program.state_dict.items()}
    made._constants = {name: _as(tensor, dtypes) for name, tensor in program.constants.items()}
    return made, values


def restore(program: ExportedProgram, values: Mapping[str, str]) -> None:
    """Give the values of a program that was read their own dtypes; ValueError where one is not there."""
    left = dict(values)
    for way, node in every_node(program.graph_module):
        name = left.pop(way + node.name, None)
        if name is not None:
            node.meta["val"] = true_view(node.meta.get("val"), name)
        about = node.args[0] if node.target is _ASSERTION else node
        name = values.get(f"{way}{getattr(about, 'name', '')}")
        if name is not None:
            own, other = getattr(torch, name), getattr(torch, STAND_INS[name])
            node.args, node.kwargs = _with_dtypes(node, {other: own})
    if left:
        raise ValueError(f"no value {min(left)}")
    for _, node in every_node(program.graph_module):
        if isinstance(node.meta.get("val"), (list, tuple)):
            _restore_parts(node)


def true_view(tensor: Any, name: str) -> torch.Tensor:
    """``tensor`` under the dtype of that name; ValueError where it is not of the one that stands in."""
    if not isinstance(tensor, torch.Tensor) or dtype_name(tensor.dtype) != STAND_INS[name]:
        raise ValueError(f"a value is said to be {name}, but is not kept as {STAND_INS[name]}")
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(tensor.detach().view(getattr(torch, name)), requires_grad=False)
    return tensor.view(getattr(torch, name))


def _unnamed(portable: bool) -> _Dtypes:
    """The dtypes that need another in the file: a portable one for any torch, the rest for this one."""
    named = ORDINARY if portable else {dtype_name(each) for each in _TORCH_TO_SERIALIZE_DTYPE}
    return {
        getattr(torch, name): getattr(torch, other)
        for name, other in STAND_INS.items()
        if name not in named and hasattr(torch, name)
    }


def _dtypes_of(node: torch.fx.Node) -> set[torch.dtype]:
    """The dtypes of what a node gives, and those among its arguments."""
    leaves = pytree.tree_leaves((node.meta.get("val"), node.args, node.kwargs))
    tensors = {leaf.dtype for leaf in leaves if isinstance(leaf, torch.Tensor)}
    return tensors | {leaf for leaf in leaves if isinstance(leaf, torch.dtype)}


def _check_recordable(node: torch.fx.Node, dtypes: _Dtypes) -> None:
    """A dtype among the arguments is found again by that of the result, or of what an assertion is about."""
    wanted = {each for each in pytree.tree_leaves((node.args, node.kwargs)) if isinstance(each, torch.dtype)}
    about = node.args[0] if node.target is _ASSERTION else node
    value = about.meta.get("val") if isinstance(about, torch.fx.Node) else None
    for dtype in wanted & dtypes.keys():
        if not isinstance(value, torch.Tensor) or value.dtype != dtype:
            raise fail("export.dtype_argument", operator=node.target, dtype=dtype_name(dtype))


def _as(leaf: Any, dtypes: _Dtypes) -> Any:
    if not isinstance(leaf, torch.Tensor) or leaf.dtype not in dtypes:
        return leaf
    viewed = leaf.detach().view(dtypes[leaf.dtype])
    return torch.nn.Parameter(viewed, requires_grad=False) if isinstance(leaf, torch.nn.Parameter) else viewed


def _with_dtypes(node: torch.fx.Node, dtypes: _Dtypes) -> tuple[Any, Any]:
    def swap(leaf: Any) -> Any:
        return dtypes.get(leaf, leaf) if isinstance(leaf, torch.dtype) else leaf

    made: tuple[Any, Any] = torch.fx.node.map_aggregate((node.args, node.kwargs), swap)
    return made


def _restore_parts(node: torch.fx.Node) -> None:
    """What a node with several results gives is what the nodes that take them apart have."""
    parts = list(node.meta["val"])
    for user in node.users:
        if getattr(user.target, "__name__", "") == "getitem" and isinstance(user.args[1], int):
            parts[user.args[1]] = user.meta.get("val", parts[user.args[1]])
    node.meta["val"] = type(node.meta["val"])(parts)
