"""What modules hold by name, to notice what has been put in its place since."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch


class Holdings:
    """The parameters, buffers and submodules of ``modules`` as they are now.

    A graph uses tensors by address: of a parameter that was replaced, or whose
    ``.data`` was, it would go on with the one of before, and of one that begins to
    require a gradient it would give none.
    """

    def __init__(self, modules: Iterable[torch.nn.Module]) -> None:
        self._others: list[tuple[torch.nn.Module, dict[str, Any], str, Any]] = []  # submodules, and None
        self._tensors: list[tuple[torch.nn.Module, dict[str, Any], str, torch.Tensor, int, bool]] = []
        for module in {each: None for outer in modules for each in outer.modules()}:
            for names in (module._parameters, module._buffers, module._modules):
                for name, held in names.items():
                    if isinstance(held, torch.Tensor):
                        now = held.data_ptr(), held.requires_grad
                        self._tensors.append((module, names, name, held, *now))
                    else:
                        self._others.append((module, names, name, held))

    def changed(self) -> str | None:
        """The name of something that is not what it was, or None."""
        for module, names, name, tensor, address, grad in self._tensors:
            if (
                names.get(name) is not tensor
                or tensor.data_ptr() != address
                or tensor.requires_grad is not grad
            ):
                return f"{type(module).__name__}.{name}"
        for module, names, name, held in self._others:
            if names.get(name) is not held:
                return f"{type(module).__name__}.{name}"
        return None
