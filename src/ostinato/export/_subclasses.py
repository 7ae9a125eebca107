"""Weights that are tensors of a class of their own, written as the plain tensors that they consist of."""

from __future__ import annotations

from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from .. import _lowering

Names = dict[str, str]


def decomposed(program: ExportedProgram) -> ExportedProgram:
    """The program in operators without side effects; a weight ``w`` of parts is ``w.qdata``, ``w.scale``…

    What reads such weights are the operators of their feature, which `_lowering.expanded` writes out.
    """
    names = _parts(program)
    with torch.no_grad(), _lowering.keeping_operators():
        made: ExportedProgram = program.run_decompositions({})
    if names:
        for spec in (*made.graph_signature.input_specs, *made.graph_signature.output_specs):
            if spec.target is not None:
                spec.target = names.get(spec.target, spec.target)
        made._state_dict = _renamed(made.state_dict, names)
        made._constants = _renamed(made.constants, names)
        _lowering.restore(made)
    return made


def has_parts(program: ExportedProgram) -> bool:
    """Whether a weight is a tensor of parts."""
    return any(map(_is_whole, (*program.state_dict.values(), *program.constants.values())))


def _is_whole(tensor: Any) -> bool:
    return isinstance(tensor, torch.Tensor) and bool(is_traceable_wrapper_subclass(tensor))


def _parts(program: ExportedProgram) -> Names:
    """How torch names each part → how we do; the numbers are those of the innermost parts, in order."""
    names: Names = {}
    for name, tensor in (*program.state_dict.items(), *program.constants.items()):
        if _is_whole(tensor):
            module, _, leaf = name.rpartition(".")
            prefix = f"{module}.parametrizations" if module else "parametrizations"
            for i, part in enumerate(_leaves(tensor)):
                names[f"{prefix}.{leaf}.original{i}"] = f"{name}.{part}"
    return names


def _leaves(tensor: Any) -> list[str]:
    found = []
    for attribute in tensor.__tensor_flatten__()[0]:
        inner = getattr(tensor, attribute)
        part = attribute.lstrip("_")  # who writes a file knows the parts by what is public
        found += [f"{part}.{each}" for each in _leaves(inner)] if _is_whole(inner) else [part]
    return found


def _renamed(tensors: Any, names: Names) -> dict[str, Any]:
    return {names.get(name, name): tensor for name, tensor in tensors.items()}
