"""Which values of a function are tensors for certain, so that their slices can be written as slices."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Mapping

import torch

from .._program import Unit

_SAME = frozenset({"aten__slice", "aten__to", "aten__select", "aten__contiguous", "aten__view"})


class Tensors:
    """Tells for the expressions of one function."""

    def __init__(self, unit: Unit, operators: Mapping[str, str]) -> None:
        self._operators = operators
        self._owner = unit.owner
        arguments = unit.tree.args.args
        self._self = arguments[0].arg if unit.owner is not None and arguments else None
        stored = Counter(
            each.id
            for each in ast.walk(unit.tree)
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        )
        self._known = {
            made.arg
            for made, written in zip(arguments, unit.written.node.args.args, strict=True)
            if _is_tensor_type(written.annotation) and not stored[made.arg]
        }
        for each in ast.walk(unit.tree):
            if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
                name = each.targets[0].id
                if stored[name] == 1 and self.knows(each.value):
                    self._known.add(name)

    def knows(self, node: ast.expr) -> bool:
        """Whether the value is a tensor, whatever happens."""
        if isinstance(node, ast.Name):
            return node.id in self._known
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node.value.id == self._self and self._registered(node.attr)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in _SAME:
                return bool(node.args) and self.knows(node.args[0])
            operator = self._operators.get(node.func.id, "")
            of_tensor = bool(node.args) and self.knows(node.args[0])
            return operator.startswith("aten::") and _gives_tensor(operator[6:], of_tensor)
        return False

    def _registered(self, name: str) -> bool:
        # torch lets nothing but tensors and None be assigned to these, and the type says that it is not None.
        if self._owner is None or self._owner.kind != "module":
            return False
        registered = name in self._owner.parameters or name in self._owner.buffer_names()
        return registered and _is_tensor_type(self._owner.attributes.get(name))


def _is_tensor_type(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Name) and node.id == "Tensor"


@functools.cache
def _gives_tensor(name: str, of_tensor: bool) -> bool:
    """Whether every form of torch's operator (``of_tensor``: with a tensor first) gives one tensor."""
    try:
        packet = getattr(torch.ops.aten, name)
    except AttributeError:
        return False
    schemas = [getattr(packet, each)._schema for each in packet.overloads()]
    if of_tensor:
        schemas = [each for each in schemas if str(each.arguments[0].type) == "Tensor"]
    plain = [
        each for each in schemas if not each.name.endswith("_out") and not each.overload_name.endswith("out")
    ]
    return bool(plain) and all(
        len(each.returns) == 1 and str(each.returns[0].type) == "Tensor" for each in plain
    )
