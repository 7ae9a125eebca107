"""``load_safetensors`` and ``save_safetensors``: MX tensors in the layouts that tools write."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import torch

from .._errors import fail
from ._assembly import assemble
from ._checkpoint import Checkpoint
from ._layouts import Layout, detected, named
from ._tensor import MXTensor
from ._writing import write


def load_safetensors(
    path: str | os.PathLike[str],
    *,
    layout: str | None = None,
    dtype: torch.dtype = torch.bfloat16,
    tell: Callable[[str], None] | None = None,
) -> dict[str, torch.Tensor]:
    """The tensors of a checkpoint, those in an MX format as ``MXTensor``.

    What the files say is checked before a number is read; then each tensor is read once,
    into memory of its own.

    Args:
        path: a ``.safetensors`` file, a ``.safetensors.index.json`` with its files beside
            it, or a folder with ``model.safetensors`` or its index.
        layout: ``ocp``, ``torchao``, ``gpt-oss``, ``compressed-tensors`` or ``deepseek``;
            otherwise what metadata, ``config.json`` and names say.
        dtype: of the MX tensors in layouts that do not say it.
        tell: gets a line for each file that is opened.

    Returns:
        By name, for ``load_state_dict(..., assign=True)``. Tensors that belong to no MX
        tensor are as stored.

    Raises:
        ArchiveError: the files are not whole, or not of the layout.
        UsageError: an unknown layout.
    """
    chosen = None if layout is None else named(layout)
    with Checkpoint(path, tell or _silent) as checkpoint:
        return _state(checkpoint, chosen or detected(checkpoint.header, path), path, dtype)


def save_safetensors(
    source: torch.nn.Module | Mapping[str, Any], path: str | os.PathLike[str], *, layout: str = "ocp"
) -> None:
    """Write a module's state, or a state dict, as one safetensors file.

    The same tensors make the same bytes. The file is written beside ``path`` and takes
    its name when it is whole.

    Args:
        source: its ``MXTensor`` are written in ``layout``, other tensors as they are.
        path: of the file.
        layout: ``ocp`` takes every MX tensor; ``torchao``, ``gpt-oss``,
            ``compressed-tensors`` and ``deepseek`` take those of which they have a form.

    Raises:
        UsageError: an unknown layout, or a tensor that it has no form for.
    """
    chosen = named(layout)
    state = source.state_dict() if isinstance(source, torch.nn.Module) else source
    tensors: dict[str, torch.Tensor] = {}
    for name, value in state.items():
        for part, tensor in _parts(chosen, name, value).items():
            if part in tensors:
                raise fail("mx.save_twice", name=part)
            tensors[part] = tensor
    write(path, tensors, chosen.describe(dict(state)))


def _state(
    checkpoint: Checkpoint, layout: Layout, path: object, dtype: torch.dtype
) -> dict[str, torch.Tensor]:
    header = checkpoint.header
    found = {each.elements: each for each in layout.find(header)}
    lost = sorted(
        {part for each in found.values() for part in (each.elements, each.scales)} - {*header.entries}
    )
    if lost:
        raise fail("mx.file_tensor_missing", path=path, name=lost[0], count=len(lost))
    scales = {each.scales for each in found.values()}
    state: dict[str, torch.Tensor] = {}
    for name in header.entries:
        if name in scales:
            continue
        stored = found.get(name)
        target = name if stored is None else stored.name
        if target in state:
            raise fail("mx.file_twice", name=target)
        state[target] = checkpoint.tensor(name) if stored is None else assemble(checkpoint, stored, dtype)
    return state


def _parts(layout: Layout, name: str, value: Any) -> dict[str, torch.Tensor]:
    if isinstance(value, MXTensor):
        parts = layout.split(name, value)
        if parts is None:
            raise fail("mx.save_layout", name=name, tensor=value, layout=layout.name)
        return parts
    if type(value) not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        raise fail("mx.save_type", name=name, type=type(value).__name__)
    return {name: value}


def _silent(line: str) -> None:
    pass


__all__ = ["load_safetensors", "save_safetensors"]
