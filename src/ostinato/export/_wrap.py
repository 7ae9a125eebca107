"""Turns a method of a module that keeps state into a program that keeps it in buffers."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.exported_program import ModuleCallEntry
from torch.export.graph_signature import ExportGraphSignature, InputKind
from torch.utils import _pytree as pytree

from .._errors import fail
from ._attributes import Address, as_bytes, own, put
from ._observe import Call, Observation
from ._signature import dtype_name, shown
from ._subclasses import decomposed
from ._vet import STAND_INS

_INNER = "inner"


@dataclass(frozen=True)
class State:
    """A leaf of an attribute that a program keeps in a buffer.

    ``path`` is the attribute's dotted path; for a leaf of a tuple, list or dict
    the leaf's number follows.
    ``assumed`` says that the module started without it (None, empty, or of
    another shape), so that zeros were taken as its start.
    """

    address: Address
    index: int
    path: str
    initial: torch.Tensor
    assumed: bool


class _Method(torch.nn.Module):
    """The method of ``inner``, its state in the buffers of this module; used for tracing alone."""

    def __init__(self, inner: torch.nn.Module, method: str, state: list[State]) -> None:
        super().__init__()
        self.inner = inner
        self._method = method
        self._state = state
        for i, each in enumerate(state):
            self.register_buffer(f"state_{i}", each.initial.clone())

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        kept = [getattr(self, f"state_{i}") for i in range(len(self._state))]
        with _unchanged(self.inner):
            for each, buffer in zip(self._state, kept, strict=True):
                owner = self.inner.get_submodule(each.address.module)
                leaves, spec = pytree.tree_flatten(own(owner)[each.address.name])
                leaves[each.index] = buffer
                put(owner, each.address.name, pytree.tree_unflatten(leaves, spec))
            result = getattr(self.inner, self._method)(*args, **kwargs)
            updates = []
            for each, buffer in zip(self._state, kept, strict=True):
                owner = self.inner.get_submodule(each.address.module)
                updated = pytree.tree_leaves(own(owner)[each.address.name])[each.index]
                if any(updated is other for other in kept if other is not buffer):
                    updated = updated.clone()  # two attributes changed places
                updates.append(updated)
            for buffer, updated in zip(kept, updates, strict=True):
                if updated is not buffer:
                    buffer.copy_(updated)
        return result


class _Reset(torch.nn.Module):
    """Writes the initial values into the state."""

    def __init__(self, initial: list[torch.Tensor]) -> None:
        super().__init__()
        for i, value in enumerate(initial):
            self.register_buffer(f"state_{i}", value.clone())
            if dtype_name(value.dtype) in STAND_INS or as_bytes(value).any():
                self.register_buffer(f"initial_{i}", value.clone(), persistent=False)
        self._count = len(initial)

    def forward(self) -> None:
        for i in range(self._count):
            buffer = getattr(self, f"state_{i}")
            initial = getattr(self, f"initial_{i}", None)
            if initial is None:
                buffer.zero_()
            else:
                buffer.copy_(initial)


@contextmanager
def _unchanged(module: torch.nn.Module) -> Iterator[None]:
    """Put every attribute and buffer of the tree back as it was."""
    before = [(each, dict(vars(each)), dict(each._buffers)) for each in module.modules()]
    try:
        yield
    finally:
        for each, attributes, buffers in before:
            vars(each).clear()
            vars(each).update(attributes)
            each._buffers.clear()
            each._buffers.update(buffers)


def trace_method(observed: Observation, state: Mapping[str, State], dynamic_shapes: Any) -> ExportedProgram:
    """The program of a call in its steady state, its state in buffers of the given names."""
    call = observed.call
    method = _Method(copy.deepcopy(observed.steady), call.method, list(state.values()))
    method.__class__ = _shaped_like(getattr(observed.steady, call.method))
    names = {f"state_{i}": name for i, name in enumerate(state)}
    return _renamed(_export(method, call, dynamic_shapes), names)


def trace_reset(method: str, initial: Mapping[str, torch.Tensor]) -> ExportedProgram:
    """The program without inputs that writes the initial values into the state."""
    names = {f"state_{i}": name for i, name in enumerate(initial)}
    names.update({f"initial_{i}": f"initial.{name}" for i, name in enumerate(initial)})
    return _renamed(_export(_Reset(list(initial.values())), Call(method), None), names)


def _export(module: torch.nn.Module, call: Call, dynamic_shapes: Any) -> ExportedProgram:
    fresh = call.fresh()
    try:
        with torch.no_grad():
            program = torch.export.export(
                module, fresh.args, fresh.kwargs, dynamic_shapes=dynamic_shapes, strict=False
            )
            return decomposed(program)
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        reason = f"{type(error).__name__}: {lines[0] if lines else ''}"
        signature = shown(call.args, call.kwargs or {})
        raise fail("export.untraceable", method=call.method, signature=signature, reason=reason) from error


def _shaped_like(method: Any) -> type[_Method]:
    """A class whose ``forward`` bears the method's own parameter names, so that the program does too."""

    def forward(self: _Method, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [each for each in inspect.signature(method).parameters.values() if each.name != "self"]
    forward.__signature__ = inspect.Signature([me, *parameters])  # type: ignore[attr-defined]
    return type("Method", (_Method,), {"forward": forward})


def _renamed(program: ExportedProgram, names: Mapping[str, str]) -> ExportedProgram:
    """The program with the names of the original module, without the weights that it does not use."""

    def renamed(name: str) -> str:
        return names.get(name, name.removeprefix(f"{_INNER}."))

    specs, dropped = [], set()
    placeholders = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    written = {spec.target for spec in program.graph_signature.output_specs if spec.target}
    for spec in program.graph_signature.input_specs:
        node = placeholders[spec.arg.name]
        if spec.kind != InputKind.USER_INPUT and not node.users and spec.target not in written:
            program.graph.erase_node(node)
            dropped.add(spec.target)
            continue
        if spec.target is not None:
            spec.target = renamed(spec.target)
        specs.append(spec)
    outputs = program.graph_signature.output_specs
    for output in outputs:
        if output.target is not None:
            output.target = renamed(output.target)
    for node in program.graph.nodes:
        stack = node.meta.get("nn_module_stack")
        if stack:
            node.meta["nn_module_stack"] = {
                key: (path.removeprefix(_INNER).removeprefix("."), kind)
                for key, (path, kind) in stack.items()
            }
    program.graph_module.recompile()
    entries = [
        ModuleCallEntry(renamed(entry.fqn), entry.signature)
        for entry in program.module_call_graph
        if entry.fqn != _INNER
    ]
    result = ExportedProgram(
        root=program.graph_module,
        graph=program.graph,
        graph_signature=ExportGraphSignature(specs, outputs),
        state_dict={renamed(k): v for k, v in program.state_dict.items() if k not in dropped},
        range_constraints=program.range_constraints,
        module_call_graph=entries,
        example_inputs=program.example_inputs,
        constants={renamed(k): v for k, v in program.constants.items() if k not in dropped},
        verifiers=program.verifiers,
    )
    result._guards_code = program._guards_code
    return result
