"""Puts a module back as it was, cheaply enough to be done after every one of thousands of trials."""

from __future__ import annotations

from typing import Any

import torch

# What every module has and no call changes: parameters, submodules and hooks.
_FIXED = frozenset(vars(torch.nn.Module())) - {"_buffers"}


class Undo:
    """Remembers every attribute, buffer and container of a module tree; a call puts them back."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._dicts: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        self._lists: list[tuple[list[Any], list[Any]]] = []
        self._tensors: dict[int, tuple[torch.Tensor, int, torch.Tensor]] = {}
        self._seen: set[int] = set()  # containers may hold each other
        for each in module.modules():
            attributes = vars(each)
            self._dicts.append((attributes, dict(attributes)))
            for name, value in attributes.items():
                if name not in _FIXED:
                    self._remember(value)

    def _remember(self, value: Any) -> None:
        if isinstance(value, (dict, list)):
            if id(value) in self._seen:
                return
            self._seen.add(id(value))
        if isinstance(value, dict):
            self._dicts.append((value, dict(value)))
            for each in value.values():
                self._remember(each)
        elif isinstance(value, list):
            self._lists.append((value, list(value)))
            for each in value:
                self._remember(each)
        elif isinstance(value, tuple):
            for each in value:
                self._remember(each)
        elif isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
            if value.is_inference():  # it counts no versions
                return
            self._tensors[id(value)] = (value, value._version, value.detach().clone())

    def __call__(self) -> None:
        for container, content in self._dicts:
            container.clear()
            container.update(content)
        for items, elements in self._lists:
            items[:] = elements
        for key, (tensor, version, value) in self._tensors.items():
            if tensor._version != version:
                with torch.no_grad():
                    tensor.copy_(value)
                self._tensors[key] = (tensor, tensor._version, value)
