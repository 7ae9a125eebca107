"""What a capture must know of an operator, read from its schema once."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import torch

OpOverload = torch._ops.OpOverload

# Operators that change an argument without saying so in their schema:
# name -> the arguments, and the argument that says whether they do.
_SILENT_WRITES = {
    "aten::native_batch_norm": (("running_mean", "running_var"), "training"),
    "aten::batch_norm": (("running_mean", "running_var"), "training"),
    "aten::_batch_norm_impl_index": (("running_mean", "running_var"), "training"),
    "aten::instance_norm": (("running_mean", "running_var"), "use_input_stats"),
}

# Operators that read a value back to Python; with the way out that the error names.
_SYNCHRONISES = {
    "aten::_local_scalar_dense",
    "aten::item",
    "aten::is_nonzero",
    "aten::equal",
    "aten::allclose",
}

# The shape of the result depends on data, though no tag says so (composites, seen whole in inference mode).
_DATA_DEPENDENT_SHAPE = {
    "aten::nonzero_numpy",
    "aten::argwhere",
    "aten::tensor_split.tensor_indices_or_sections",
    "aten::unique_consecutive",
    "aten::combinations",
    "aten::bincount",
    "aten::_embedding_bag_forward_only",
}

# Rebinding a tensor to other memory cannot be replayed.
_REBINDS = {"aten::set_", "aten::set_data", "aten::swap_"}


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """How a capture treats one operator overload."""

    name: str  # "aten::add"
    names: tuple[str, ...]  # of the arguments, in order
    positional: int  # how many of them may be positional
    writes: tuple[int, ...]  # positions of the arguments that the operator changes
    silent: tuple[tuple[str, ...], str] | None
    refusal: str | None  # the code of the error, where it is always the same
    dynamic: bool  # its shape may depend on data
    metadata_only: bool  # changes only how a tensor looks at its memory


def full_name(op: OpOverload) -> str:
    """``aten::add.Tensor``; without the overload's name where it has none."""
    schema = op._schema
    return str(schema.name + ("." + schema.overload_name if schema.overload_name else ""))


@functools.cache
def rule(op: OpOverload) -> Rule:
    """The rule of ``op``."""
    schema = op._schema
    names = tuple(a.name for a in schema.arguments)
    positional = sum(not a.kwarg_only for a in schema.arguments)
    writes = tuple(
        i for i, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write
    )
    tags = set(op.tags)
    full = full_name(op)
    refusal = None
    if schema.name in _SYNCHRONISES:
        refusal = "accelerator.synchronises"
    elif schema.name in _REBINDS:
        refusal = "accelerator.rebinds"
    elif schema.name in _DATA_DEPENDENT_SHAPE or full in _DATA_DEPENDENT_SHAPE:
        refusal = "accelerator.data_dependent_shape"
    dynamic = torch.Tag.dynamic_output_shape in tags
    if torch.Tag.data_dependent_output in tags and not dynamic and refusal is None:
        refusal = "accelerator.synchronises"
    return Rule(
        name=schema.name,
        names=names,
        positional=positional,
        writes=writes,
        silent=_SILENT_WRITES.get(schema.name),
        refusal=refusal,
        dynamic=dynamic,
        metadata_only=torch.Tag.inplace_view in tags,
    )


@functools.cache
def is_composite(op: OpOverload) -> bool:
    """Whether ``op`` is nothing but calls of other operators."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), "CompositeImplicitAutograd")


def argument(rule_: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
    """The value of the argument called ``name``, or None where it was left out."""
    if name in kwargs:
        return kwargs[name]
    position = rule_.names.index(name)
    return args[position] if position < len(args) else None


def written(rule_: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments that this call changes (tensors, or lists of tensors)."""
    changed = []
    for position in rule_.writes:
        if position < len(args):
            changed.append(args[position])
        elif rule_.names[position] in kwargs:
            changed.append(kwargs[rule_.names[position]])
    if rule_.silent is not None:
        targets, switch = rule_.silent
        if argument(rule_, args, kwargs, switch):
            changed += [argument(rule_, args, kwargs, name) for name in targets]
    return changed


def has_dynamic_shape(rule_: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the shape of this call's result depends on data."""
    if not rule_.dynamic:
        return False
    if rule_.name in ("aten::index", "aten::_unsafe_index", "aten::index_put", "aten::index_put_"):
        # A boolean or byte mask selects as many elements as it has ones; integers select as many as they are.
        indices = argument(rule_, args, kwargs, "indices")
        writes = rule_.name.startswith("aten::index_put")
        masks = any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in indices)
        return masks and not writes
    if rule_.name == "aten::repeat_interleave":
        return argument(rule_, args, kwargs, "output_size") is None
    return True
