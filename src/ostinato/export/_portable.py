"""Whether a program runs on any machine with a stock torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.export import ExportedProgram

from .._errors import fail
from ._vet import unportable


def check_portable(program: ExportedProgram, where: str) -> None:
    """Raise ExportError, naming the first operator or device that ties ``program`` to one machine."""
    for node in _nodes(program.graph_module):
        target = node.target
        if node.op == "call_function":
            name = _name(target)
            if unportable(name):
                raise fail("export.unportable_operator", where=where, operator=name)
        for device in _devices(node):
            if device.type != "cpu":
                raise fail("export.unportable_device", where=where, device=device, node=node.name)


def _nodes(module: torch.nn.Module) -> Iterator[Any]:
    for each in module.modules():
        if isinstance(each, torch.fx.GraphModule):
            yield from each.graph.nodes


def _name(target: Any) -> str:
    if isinstance(target, torch._ops.OpOverload):
        return f"torch.ops.{target.namespace}.{target.__name__}"
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"torch.ops.higher_order.{target.__name__}"
    return f"{target.__module__}.{target.__name__}"


def _devices(node: Any) -> Iterator[torch.device]:
    if node.op == "placeholder" and isinstance(node.meta.get("val"), torch.Tensor):
        yield node.meta["val"].device
    for value in (*node.args, *node.kwargs.values()):
        if isinstance(value, torch.device):
            yield value
