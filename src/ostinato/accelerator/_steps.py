"""Turns a program into steps: native ones wherever the engine has a form, Python ones for the rest."""

from __future__ import annotations

from typing import Any

import torch

from .. import _native
from .._errors import fail
from . import _memory
from ._encode import Encoder, Refused, dispatchable
from ._forms import Form, forms
from ._plan import Plan, Step
from ._program import ConstantNode, GeneratorNode, Node, Program, Storage, Value, leaves, map_tensors
from ._restore import as_bytes
from ._source import text

# A constant up to this size is kept and copied; a larger one is made anew at every replay.
_CONSTANT_BYTES = 1 << 20

# Operators with a packed form, and which of their arguments is the weight.
_WEIGHT = {"aten::convolution": "weight", "aten::mm": "mat2", "aten::addmm": "mat2"}

# Less the length: a result that is a list of tensors. The protocol with csrc/graph/step.h.
_LIST_OF_RESULTS = -2

# Makes memory and puts nothing into it: at replay there is nothing to do.
_EMPTY = {
    "aten::empty",
    "aten::empty_like",
    "aten::empty_strided",
    "aten::empty_permuted",
    "aten::new_empty",
    "aten::new_empty_strided",
}


class Arena:
    """The memory that the intermediates of a graph share, and graphs of one pool with each other."""

    def __init__(self) -> None:
        self.memory = torch.UntypedStorage(0)

    def of_size(self, nbytes: int) -> torch.UntypedStorage:
        if self.memory.nbytes() < nbytes:
            self.memory = torch.empty(nbytes, dtype=torch.uint8).untyped_storage()
        return self.memory


class Tensors:
    """A tensor for every value of a program, each with the address it has at every replay."""

    def __init__(self, program: Program, arena: Arena) -> None:
        self.outputs = 0
        self._made: dict[Value, torch.Tensor] = {}
        self._memory: dict[int, tuple[torch.UntypedStorage, int]] = {}
        spans = _memory.lifetimes(program)
        inside: dict[int, int] = {}
        for storage in program.storages:
            if storage.number not in spans:
                continue
            alive = storage.alive()
            if alive is None:
                inside[storage.number] = storage.nbytes
            else:
                self._memory[storage.number] = (alive, 0)
                self.outputs += storage.owner is None
        offsets, self.pool_bytes = _memory.plan_offsets(inside, spans)
        memory = arena.of_size(self.pool_bytes)
        self._memory.update((number, (memory, offset)) for number, offset in offsets.items())

    def __getitem__(self, value: Value) -> torch.Tensor:
        tensor = self._made.get(value)
        if tensor is None:
            tensor = self._made[value] = self._make(value)
        return tensor

    def bytes_of(self, number: int, nbytes: int) -> torch.Tensor:
        memory, offset = self._memory[number]
        return as_bytes(memory)[offset : offset + nbytes]

    def _make(self, value: Value) -> torch.Tensor:
        memory, offset = self._memory[value.storage]
        start = offset // value.dtype.itemsize + value.offset
        with torch.inference_mode(False), torch.no_grad():
            tensor = torch.empty(0, dtype=value.dtype)
            tensor.set_(memory, start, value.sizes, value.strides)  # type: ignore[call-overload]
            if value.conj:
                tensor = torch._conj(tensor)
            if value.neg:
                tensor = torch._neg_view(tensor)
        return tensor


class Builder:
    """Collects the steps of one program."""

    def __init__(self, program: Program, tensors: Tensors, numerics: str, weights: frozenset[int]) -> None:
        self.program = program
        self.tensors = tensors
        self._weights = weights
        self.native = _native.ops()
        # Cheapest first: a step is of the first kind that has a form for its node.
        self._native_kinds = (f"packed_{numerics}", "kernel", "shim", "dispatcher")
        self._written = {n for node in program.nodes if isinstance(node, Node) for n in node.written}
        self.kinds = dict.fromkeys(("packed", "kernel", "shim", "dispatcher", "python", "generator"), 0)
        self.python_operators: dict[str, int] = {}
        self._values: list[torch.Tensor] = []
        self._slots: dict[Value, int] = {}
        # In order: a node with the native calls that can do it, or a Python step.
        self._order: list[tuple[Node, list[Any]] | Step] = []
        self._saved: dict[tuple[int, int], torch.Tensor] = {}

    # ---- collecting -----------------------------------------------------------
    def add(self, node: Node | GeneratorNode | ConstantNode) -> None:
        if isinstance(node, GeneratorNode):
            self.kinds["generator"] += 1
            self._order.append(self._generator_step(node))
        elif isinstance(node, ConstantNode):
            target = self.tensors.bytes_of(node.storage, node.content.numel())
            self._copy(target, node.content, node)
        elif node.op._schema.name in _EMPTY and not node.random:
            return
        elif self._is_constant(node):
            (target,) = leaves(node.outputs, Value)
            content = node.op(*node.args, **node.kwargs)
            self._copy(self.tensors[target], content, node)
        else:
            self._call(node)

    def _is_constant(self, node: Node) -> bool:
        """Whether ``node`` makes the same small tensor at every replay, from nothing but numbers."""
        outputs = leaves(node.outputs, Value)
        if node.random or node.written or len(outputs) != 1:
            return False
        inputs = leaves([node.args, list(node.kwargs.values())], Value)
        size = self.tensors[outputs[0]].nbytes
        return not inputs and size <= _CONSTANT_BYTES

    def _copy(self, target: torch.Tensor, source: torch.Tensor, node: Node | ConstantNode) -> None:
        copy = torch.ops.aten.copy_.default
        call = Node(copy, (target, source), {}, None, frozenset(), frozenset(), node.where)
        form = Form(copy, {"self": target, "src": source, "non_blocking": False}, [None])
        self._order.append((call, [("dispatcher", self._encode(form), [])]))

    def _call(self, node: Node) -> None:
        by_kind: dict[str, list[Any]] = {kind: [] for kind in self._native_kinds}
        for form in forms(node):
            conjugated = any(v.conj or v.neg for v in leaves(list(form.arguments.values()), Value))
            try:
                encoded = self._encode(form)
            except Refused:
                continue
            # The shims and our kernels call below the code that resolves a lazy conjugate.
            if not conjugated:
                if weights := self._weights_of(form):
                    by_kind[self._native_kinds[0]].append((encoded, weights))
                by_kind["kernel"].append((encoded, []))
                by_kind["shim"].append((encoded, []))
            if dispatchable(form.op):
                by_kind["dispatcher"].append((encoded, []))
        ordered = [(kind, *what) for kind, whats in by_kind.items() for what in whats]
        self._order.append((node, ordered))

    def _weights_of(self, form: Form) -> list[Storage]:
        """The storage of the weights that a packed step may keep a copy of.

        These are parameters, and tensors of which the caller has said that they change
        only in ways that their version counter tells of. What another graph writes at
        each replay, such as a saved activation, must not be taken for a weight.
        """
        name = _WEIGHT.get(form.op._schema.name)
        value = form.arguments.get(name) if name is not None else None
        if not isinstance(value, Value):
            return []
        storage = self.program.storages[value.storage]
        if storage.owner is None or storage.number in self._written:
            return []
        known = isinstance(storage.seen, torch.nn.Parameter) or storage.owner._cdata in self._weights
        return [storage] if known else []

    def _encode(self, form: Form) -> list[Any]:
        encoder = Encoder(self._slot, self._constant_slot)
        for argument in form.op._schema.arguments:
            encoder.argument(argument.real_type, form.arguments[argument.name])
        results: list[int] = []
        for result in form.results:
            if isinstance(result, (list, tuple)):
                results += [_LIST_OF_RESULTS - len(result), *(self._slot(v) for v in result)]
            else:
                results.append(self._slot(result) if isinstance(result, Value) else -1)
        schema = form.op._schema
        return [schema.name, schema.overload_name, encoder.code, encoder.floats, encoder.texts, results]

    def _slot(self, value: Value) -> int:
        slot = self._slots.get(value)
        if slot is None:
            slot = self._slots[value] = self._constant_slot(self.tensors[value])
        return slot

    def _constant_slot(self, tensor: torch.Tensor) -> int:
        self._values.append(tensor)
        return len(self._values) - 1

    # ---- Python steps ---------------------------------------------------------
    def _generator_step(self, node: GeneratorNode) -> Step:
        generator, saved, state = node.generator, self._saved, node.state
        point = (id(generator), node.point)

        def save() -> None:
            saved[point] = generator.get_state()

        def restore() -> None:
            generator.set_state(saved[point] if state is None else state)

        return save if node.action == "save" else restore

    def python_step(self, node: Node) -> Step:
        """Runs the node as the capture ran it, and copies what it made to where it belongs.

        The step raises ReplayError, with torch's message, where the operator fails.
        """
        op = node.op
        args = map_tensors(node.args, self.tensors.__getitem__, Value)
        kwargs = {k: map_tensors(v, self.tensors.__getitem__, Value) for k, v in node.kwargs.items()}
        targets = [
            (i, self.tensors[v]) for i, v in enumerate(leaves(node.outputs, Value)) if v.storage in node.fresh
        ]

        def step() -> None:
            try:
                results = leaves(op(*args, **kwargs))
            except Exception as error:
                where = text(node.where)
                raise fail("accelerator.step_failed", op=op, where=where, reason=error) from error
            for i, target in targets:
                target.copy_(results[i])

        return step

    # ---- the finished plan ----------------------------------------------------
    def finish(self) -> Plan:
        number = self.native.plan_new(self._values)
        plan = Plan(number, self.native)
        for entry in self._order:
            if not isinstance(entry, tuple):
                plan.append_python(entry)
                continue
            node, calls = entry
            for kind, encoded, weights in calls:
                if self.native.plan_add(number, kind, *encoded):
                    self.kinds[kind.partition("_")[0]] += 1
                    plan.append_native(node, self.python_step)
                    plan.watch([s.seen for s in weights])
                    break
            else:
                self.kinds["python"] += 1
                name = str(node.op)
                self.python_operators[name] = self.python_operators.get(name, 0) + 1
                plan.append_python(self.python_step(node))
        return plan
