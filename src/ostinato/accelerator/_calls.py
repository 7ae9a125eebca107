"""The native calls that may do a node, the cheapest kind first, each encoded only when it is its turn."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .. import _native
from ._encode import Encoder, Refused, dispatchable
from ._forms import Form, forms
from ._program import FusedNode, Node, Storage, Value, leaves
from ._schema import full_name

# Operators with a packed form in exact numerics, and which of their arguments is the weight.
_WEIGHT = {"aten::convolution": "weight", "aten::mm": "mat2", "aten::addmm": "mat2"}

# Less the length: a result that is a list of tensors. The protocol with csrc/graph/step.h.
_LIST_OF_RESULTS = -2


@dataclasses.dataclass(slots=True)
class NativeCall:
    """The arguments of the operator ``plan_add`` after the plan's number."""

    kind: str
    encoded: list[Any]
    weights: list[Storage]  # of which the step keeps packed copies


@functools.cache
def _known(kind: str) -> frozenset[str]:
    return frozenset(_native.ops().operators_of(kind))


class Calls:
    """Encodes nodes; ``slot`` and ``number_slot`` give the numbers that tensors have in the plan."""

    def __init__(
        self,
        numerics: str,
        slot: Callable[[Value], int],
        number_slot: Callable[[torch.Tensor], int],
        weight: Callable[[Value], Storage | None],
    ) -> None:
        self._packed = f"packed_{numerics}"
        self._slot = slot
        self._number_slot = number_slot
        self._weight = weight

    def of_node(self, node: Node) -> Iterator[NativeCall]:
        """For a recorded node: packed kernel, our kernel, C shim, dispatcher."""
        encoded: dict[int, list[Any] | None] = {}
        candidates = list(forms(node))

        def encode(index: int) -> list[Any] | None:
            if index not in encoded:
                try:
                    encoded[index] = self.encode(candidates[index])
                except Refused:
                    encoded[index] = None
            return encoded[index]

        for kind in (self._packed, "kernel", "shim", "dispatcher"):
            for index, form in enumerate(candidates):
                weights = self._weights_of(form) if kind == self._packed else []
                if self._may(kind, form, weights) and (code := encode(index)) is not None:
                    name = "dispatcher_grad" if kind == "dispatcher" and node.grad else kind
                    yield NativeCall(name, code, weights)

    def of_fused(self, node: FusedNode, weights: list[Storage]) -> NativeCall:
        """For what a pass has chosen."""
        encoder = Encoder(self._slot, self._number_slot)
        for argument in node.args:
            encoder.plain(argument)
        return NativeCall(
            "fused", [node.kernel, "", encoder.code, encoder.floats, encoder.texts, []], weights
        )

    def _may(self, kind: str, form: Form, weights: list[Storage]) -> bool:
        if kind == "dispatcher":
            return dispatchable(form.op)
        # The shims and our kernels call below the code that resolves a lazy conjugate.
        if any(v.conj or v.neg for v in leaves(list(form.arguments.values()), Value)):
            return False
        return bool(weights) if kind == self._packed else full_name(form.op) in _known(kind)

    def _weights_of(self, form: Form) -> list[Storage]:
        name = _WEIGHT.get(form.op._schema.name)
        value = form.arguments.get(name) if name is not None else None
        storage = self._weight(value) if isinstance(value, Value) else None
        return [] if storage is None else [storage]

    def encode(self, form: Form) -> list[Any]:
        """A form as numbers; Refused where the engine has none for an argument."""
        encoder = Encoder(self._slot, self._number_slot)
        schema = form.op._schema
        for argument in schema.arguments:
            encoder.argument(argument.real_type, form.arguments[argument.name])
        results: list[int] = []
        for result in form.results:
            if isinstance(result, (list, tuple)):
                results += [_LIST_OF_RESULTS - len(result), *(self._slot(v) for v in result)]
            else:
                results.append(self._slot(result) if isinstance(result, Value) else -1)
        return [schema.name, schema.overload_name, encoder.code, encoder.floats, encoder.texts, results]
