"""An exported program as a flat function over tensors that every program of its file shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

from .._errors import fail
from ..export import Variant, describe, matches, mutated_buffers, shown, tensor_of

_TENSORS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


class Program:
    """One variant of a method, ready to be captured.

    ``state`` are the tensors, by name, that live from call to call; the program
    writes into them. All other tensors of the program are ``weights``.
    """

    def __init__(self, method: str, variant: Variant, state: Mapping[str, torch.Tensor]) -> None:
        self.method = method
        self.args, self.kwargs, self.made_up = variant.args, variant.kwargs, variant.made_up
        self.on_change = variant.on_variant_change
        program = variant.program
        self.inputs, _ = describe(program)
        self.names = names_of(program)
        self._module = program.graph_module
        self._in_spec, self._out_spec = program.call_spec.in_spec, program.call_spec.out_spec
        self._bound: list[torch.Tensor | None] = []  # None where an argument of the caller goes
        self.weights: list[torch.Tensor] = []
        arguments = []
        for spec in program.graph_signature.input_specs:
            if spec.kind in _TENSORS:
                name = str(spec.target)
                tensor = state[name] if name in state else tensor_of(program, name)
                if name not in state:
                    self.weights.append(tensor)
                self._bound.append(tensor)
            elif spec.kind == InputKind.USER_INPUT:
                arguments.append(spec.arg.name)
                self._bound.append(None)
            else:
                raise fail("deployment.input_kind", method=method, name=spec.arg.name, kind=spec.kind.name)
        # (position among the outputs, the tensor that takes it, or the argument's number)
        self._writes: list[tuple[int, torch.Tensor]] = []
        self._argument_writes: list[tuple[int, int]] = []
        self._results: list[int] = []
        for i, output in enumerate(program.graph_signature.output_specs):
            if output.kind == OutputKind.BUFFER_MUTATION:
                self._writes.append((i, state[str(output.target)]))
            elif output.kind == OutputKind.USER_INPUT_MUTATION:
                self._argument_writes.append((i, arguments.index(str(output.target))))
            elif output.kind == OutputKind.USER_OUTPUT:
                self._results.append(i)
            else:
                raise fail(
                    "deployment.input_kind", method=method, name=output.arg.name, kind=output.kind.name
                )

    @property
    def signature(self) -> str:
        """For people: ``(float32[1, 512], 16000)``."""
        return shown(self.args, self.kwargs)

    def takes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        return matches(self.inputs, args, kwargs)

    def leaves(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments flat, in the order of the program."""
        ordered = {key: kwargs[key] for key in self.inputs["kwargs"]["dict"]}
        return pytree.tree_leaves((args, ordered), is_leaf=lambda value: value is None)

    def run(self, leaves: list[Any]) -> Any:
        """Compute, write the new state, and give the result in its own structure.

        An argument that the program changes is changed in place.
        """
        supply = iter(leaves)
        outputs = self._module(*(next(supply) if each is None else each for each in self._bound))
        # One state may be another's new value: none is written before all are known.
        written = [
            outputs[i].clone() if _aliases(outputs[i], self._writes) else outputs[i] for i, _ in self._writes
        ]
        results = [outputs[i] for i in self._results]
        results = [each.clone() if _aliases(each, self._writes) else each for each in results]
        for value, (_, tensor) in zip(written, self._writes, strict=True):
            tensor.copy_(value)
        for i, argument in self._argument_writes:
            leaves[argument].copy_(outputs[i])
        return pytree.tree_unflatten(results, self._out_spec)

    @property
    def changed_arguments(self) -> list[int]:
        """The numbers of the arguments, among the leaves, that a call changes in place."""
        return [argument for _, argument in self._argument_writes]


def _aliases(value: Any, writes: list[tuple[int, torch.Tensor]]) -> bool:
    if not isinstance(value, torch.Tensor):
        return False
    storage = value.untyped_storage().data_ptr()
    return any(storage == tensor.untyped_storage().data_ptr() for _, tensor in writes)


def names_of(program: ExportedProgram) -> list[str]:
    """The names of the arguments, positional ones first; empty where the program does not know them."""
    for entry in program.module_call_graph:
        if entry.fqn == "" and entry.signature is not None:
            return list(entry.signature.forward_arg_names or [])
    return []


def functional(variant: Variant) -> Variant:
    """The variant with its changes in the signature, where stock torch left them in the graph."""
    for node in variant.program.graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable:
            return replace(variant, program=variant.program.run_decompositions({}))
    return variant


def state_of(methods: Mapping[str, list[Variant]]) -> dict[str, torch.Tensor]:
    """The tensors that any of the programs changes, by name."""
    state: dict[str, torch.Tensor] = {}
    for variants in methods.values():
        for each in variants:
            for name in mutated_buffers(each.program):
                state.setdefault(name, tensor_of(each.program, name))
    return state
