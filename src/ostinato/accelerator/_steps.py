"""Turns a program into steps: native ones wherever the engine has a form, Python ones for the rest."""

from __future__ import annotations

import torch

from .. import _native
from .._errors import fail
from ._calls import Calls, NativeCall
from ._forms import Form
from ._guard import grad_mode
from ._plan import Plan, Step
from ._program import (
    AnyNode,
    ConstantNode,
    ControlNode,
    FusedNode,
    GeneratorNode,
    Node,
    Program,
    Storage,
    Value,
    leaves,
    map_tensors,
)
from ._source import text
from ._tensors import Tensors

# A constant up to this size is kept and copied; a larger one is made anew at every replay.
_CONSTANT_BYTES = 1 << 20

# Makes memory and puts nothing into it: at replay there is nothing to do.
_EMPTY = {
    "aten::empty",
    "aten::empty_like",
    "aten::empty_strided",
    "aten::empty_permuted",
    "aten::new_empty",
    "aten::new_empty_strided",
}

# Steps that do not leave the engine: what a replay must not see of the world, they do not see anyway.
_SELF_CONTAINED = {"fused", "packed", "kernel", "control"}


class Builder:
    """Builds the plan of one program, node by node."""

    def __init__(self, program: Program, tensors: Tensors, numerics: str, weights: frozenset[int]) -> None:
        self.program = program
        self.tensors = tensors
        self._weights = weights
        self._native = _native.ops()
        self._written = program.written()
        self.kinds = dict.fromkeys(
            ("fused", "packed", "kernel", "shim", "dispatcher", "python", "generator", "control"), 0
        )
        self.python_operators: dict[str, int] = {}
        self.steps: list[tuple[int, str]] = []  # for each step in order: the number of its node, its kind
        self._at = -1  # the number of the node that is being added
        self._calls = Calls(numerics, self._slot, self._number_slot, self._weight)
        self._slots: dict[Value, int] = {}
        self._slot_count = 0
        self._pending: list[torch.Tensor] = []  # values that the native plan has not been told yet
        self._saved: dict[tuple[int, int], torch.Tensor] = {}
        self._number = self._native.plan_new()
        self.plan = Plan(self._number, self._native)

    # ---- one node -------------------------------------------------------------
    def add(self, node: AnyNode) -> None:
        """Appends what does ``node``, the next of the program, to the plan."""
        self._at += 1
        if isinstance(node, FusedNode):
            self._fused(node)
        elif isinstance(node, GeneratorNode):
            self._count("generator")
            self.plan.append_python(self._generator_step(node))
        elif isinstance(node, ConstantNode):
            target = self.tensors.bytes_of(node.storage, node.content.numel())
            self._copy(target, node.content, node)
        elif isinstance(node, ControlNode):
            self.kinds["control"] += 1
            (self._condition if node.kind == "cond" else self._loop)(node)
        elif node.op._schema.name in _EMPTY and not node.random:
            return
        elif self._is_constant(node):
            (target,) = leaves(node.outputs, Value)
            content = node.op(*node.args, **node.kwargs)
            self._copy(self.tensors[target], content, node)
        else:
            self._recorded(node)

    def _condition(self, node: ControlNode) -> None:
        number = self._at
        taken, otherwise = node.bodies
        jump = self._jump_unless(node.predicate, number)
        self._add_all(taken)
        if otherwise:
            end, start = self._landing(number), self._landing(number)
            self.plan.aim(jump, start)
            self._add_all(otherwise)
            jump = end
        self.plan.aim(jump, self._landing(number))

    def _loop(self, node: ControlNode) -> None:
        number = self._at
        test, body = node.bodies
        start = self._landing(number)
        self._add_all(test)
        out = self._jump_unless(node.predicate, number)
        self._add_all(body)
        again = self._landing(number)
        self.plan.aim(again, start)
        self.plan.aim(out, self._landing(number))

    def _jump_unless(self, predicate: Value, number: int) -> int:
        slot = self._slot(predicate)
        self._send_values()
        self.steps.append((number, "control"))
        return self.plan.jump_unless(slot)

    def _landing(self, number: int) -> int:
        self.steps.append((number, "control"))
        return self.plan.landing()

    def _add_all(self, nodes: list[AnyNode]) -> None:
        for node in nodes:
            self.add(node)

    def _recorded(self, node: Node) -> None:
        if any(self._add(call, node) for call in self._calls.of_node(node)):
            return
        self._count("python")
        name = str(node.op)
        self.python_operators[name] = self.python_operators.get(name, 0) + 1
        for value in leaves([node.args, list(node.kwargs.values()), node.outputs], Value):
            if self.tensors.outside(value):
                self._slot(value)  # so that the engine watches its memory
        self._send_values()
        self.plan.append_python(self.python_step(node))

    def _fused(self, node: FusedNode) -> None:
        weights = [self.program.storages[v.storage] for v in node.weights]
        if not self._add(self._calls.of_fused(node, weights), node.sources[-1]):
            raise AssertionError(f"{node.kernel} does not take what a pass has given it: {node}")

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
        encoded = self._calls.encode(form)
        if not any(self._add(NativeCall(kind, encoded, []), call) for kind in ("kernel", "dispatcher")):
            raise AssertionError(f"no step copies {source.dtype} to {target.dtype}")

    def _add(self, call: NativeCall, node: Node) -> bool:
        """Offers a call to the engine; ``node`` is what runs in Python where it fails at a replay."""
        self._send_values()
        if not self._native.plan_add(self._number, call.kind, *call.encoded):
            return False
        self._count(call.kind.partition("_")[0])
        self.plan.append_native(node, self.python_step)
        self.plan.watch_weights([s.seen for s in call.weights])
        return True

    def _send_values(self) -> None:
        if self._pending:
            self._native.plan_values(self._number, self._pending)
            self._pending = []

    def _count(self, kind: str) -> None:
        self.kinds[kind] += 1
        self.steps.append((self._at, kind))

    def finish(self) -> Plan:
        """The plan, once all nodes are in."""
        outside = [slot for value, slot in self._slots.items() if self.tensors.outside(value)]
        self._native.plan_watch(self._number, outside)
        self.plan.changes(self.program.written_before())
        self.plan.look_first()
        return self.plan

    @property
    def self_contained(self) -> bool:
        """Whether no step calls back into torch."""
        return all(count == 0 or kind in _SELF_CONTAINED for kind, count in self.kinds.items())

    # ---- values ---------------------------------------------------------------
    def _slot(self, value: Value) -> int:
        slot = self._slots.get(value)
        if slot is None:
            slot = self._slots[value] = self._number_slot(self.tensors[value])
        return slot

    def _number_slot(self, tensor: torch.Tensor) -> int:
        self._pending.append(tensor)
        self._slot_count += 1
        return self._slot_count - 1

    def _weight(self, value: Value) -> Storage | None:
        """The storage of a weight that a packed step may keep a copy of.

        These are parameters, and tensors of which the caller has said that they change
        only in ways that their version counter tells of, and what was computed before
        the first replay. What another graph writes at each replay, such as a saved
        activation, must not be taken for a weight.
        """
        storage = self.program.storages[value.storage]
        if storage.owner is None or storage.number in self._written:
            return None
        known = isinstance(storage.seen, torch.nn.Parameter) or storage.owner._cdata in self._weights
        return storage if known or storage.fixed else None

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
                with grad_mode(node.grad):
                    results = leaves(op(*args, **kwargs))
            except Exception as error:
                where = text(node.where)
                raise fail("accelerator.step_failed", op=op, where=where, reason=error) from error
            for i, target in targets:
                target.copy_(results[i])

        return step
