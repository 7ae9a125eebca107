"""A condition: two bodies recorded one after the other, and their results joined."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._errors import fail
from ._bodies import Predicate, Undo, give, place_for, run, same_layout
from ._capture import Recorder, current_recorder
from ._program import ControlNode
from ._scopes import Scope
from ._source import text
from ._tape import Edge, Tape, hooks_off, meet_in_custom_code

Grads = Sequence[torch.Tensor | None]


def join(
    recorder: Recorder, pred: torch.Tensor, functions: Sequence[Callable[[], Any]], where: tuple[str, int]
) -> Any:
    """Records both functions as a node that runs the first where ``pred`` is true, else the second."""
    return _Branches(recorder, pred, [Tape(), Tape()], where).record(functions)


class _Branches:
    """One condition while it is recorded. ``backward``: that of another, whose gradients may be missing."""

    def __init__(
        self,
        recorder: Recorder,
        pred: torch.Tensor,
        tapes: list[Tape],
        where: tuple[str, int],
        backward: bool = False,
    ) -> None:
        self._recorder = recorder
        self._pred = pred
        self._tapes = tapes
        self._where = where
        self._backward = backward

    def record(self, functions: Sequence[Callable[[], Any]]) -> Any:
        """Runs both; what both return, with tensors of its own."""
        recorder = self._recorder
        predicate = Predicate(recorder, self._pred, self._where)
        start = len(recorder.nodes)
        taken = 0 if predicate.now() else 1
        order = (1 - taken, taken)  # what eager runs comes last, and stays
        undo = Undo(recorder)
        scopes = [recorder.scope(side == taken, self._tapes[side].scopes) for side in (0, 1)]
        returned: list[Any] = [None, None]
        for side in order:
            with self._tapes[side].recording(scopes[side]):
                returned[side] = run(recorder, scopes[side], functions[side])
            self._check_writes(scopes[side], self._tapes[side])
            undo.after(scopes[side], keep=side == taken)
        results, spec = self._matched(returned, scopes)
        places = [self._place(a, b) for a, b in results]
        for side in order:
            with recorder.inside(scopes[side]), torch.no_grad():
                for place, pair in zip(places, results, strict=True):
                    if isinstance(place, torch.Tensor) and place is not pair[side]:
                        give(place, pair[side])
        bodies = [scope.nodes for scope in scopes]
        recorder.nodes.append(ControlNode("cond", predicate.value, bodies, self._where))
        places = self._differentiable(places, results, predicate, start)
        undo.end()
        return pytree.tree_unflatten(places, spec)

    # ---- results --------------------------------------------------------------
    def _matched(self, returned: list[Any], scopes: list[Scope]) -> tuple[list[list[Any]], Any]:
        """The results of both sides leaf by leaf, and their structure."""
        (first, spec), (second, other) = map(_flatten, returned)
        if spec != other:
            self._differ("structure", spec, other)
        pairs = [list(pair) for pair in zip(first, second, strict=True)]
        if self._backward:  # a gradient that one side alone has
            for pair in pairs:
                for side in (0, 1):
                    if pair[side] is None and pair[1 - side] is not None:
                        with self._recorder.inside(scopes[side]), torch.no_grad():
                            there = pair[1 - side]
                            pair[side] = torch.zeros(there.shape, dtype=there.dtype)
        return pairs, spec

    def _place(self, a: Any, b: Any) -> Any:
        """Where a result goes: memory that both sides fill, or what both return alike."""
        if not (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)):
            if type(a) is not type(b) or a != b:
                self._differ("values", repr(a), repr(b))
            return a
        if a is b and not self._recorder.made_in_body(a):
            return a
        looks = [(t.dtype, tuple(t.shape), t.device) for t in (a, b)]
        if looks[0] != looks[1]:
            self._differ("tensors", *(f"{t.dtype}{list(t.shape)}" for t in (a, b)))
        strides = a.stride()
        if not same_layout(a, b):
            if not self._backward:
                self._differ("strides", a.stride(), b.stride())
            strides = torch.empty(a.shape, device="meta").stride()
        with torch.no_grad():
            return place_for(a, strides)

    def _differ(self, what: str, first: object, second: object) -> None:
        where = text(self._where)
        raise fail("accelerator.branches_differ", what=what, first=first, second=second, where=where)

    def _check_writes(self, scope: Scope, tape: Tape) -> None:
        """Refuses in-place changes that autograd follows, of tensors from before: one side alone has them."""
        for tensor in scope.snapshots.tensors():
            if tensor.requires_grad and tensor.grad_fn is not None and tape.made(tensor.grad_fn):
                raise fail("accelerator.branch_writes", shape=tuple(tensor.shape), where=text(self._where))

    # ---- gradients ------------------------------------------------------------
    def _differentiable(
        self, places: list[Any], results: list[list[Any]], predicate: Predicate, start: int
    ) -> list[Any]:
        """The places as results of a function that autograd knows, where a result needs it."""
        fresh = [
            i for i, (p, pair) in enumerate(zip(places, results, strict=True))
            if isinstance(p, torch.Tensor) and p is not pair[0]
        ]  # fmt: skip
        for side, tape in enumerate(self._tapes):
            tape.results = [results[i][side] for i in fresh]
        if not torch.is_grad_enabled() or not any(r.requires_grad for t in self._tapes for r in t.results):
            for tape in self._tapes:
                tape.results = []
            return places
        sources = self._sources()
        with torch.no_grad():
            saved = predicate.tensor.clone()
        # The branches may change what decided: keep it as it was before them.
        self._recorder.nodes.insert(start, self._recorder.nodes.pop())
        decision = _Decision(saved, self._tapes, sources, self._where)
        fixed = [
            places[i] for i in fresh
            if not any(results[i][side].requires_grad for side in (0, 1))
        ]  # fmt: skip
        made = _Joined.apply(decision, fixed, [places[i] for i in fresh], *sources.values())
        places = list(places)
        for i, out in zip(fresh, made, strict=True):
            places[i] = out
        return places

    def _sources(self) -> dict[Edge, torch.Tensor]:
        found: dict[Edge, torch.Tensor] = {}
        for tape in self._tapes:
            for edge, tensor in tape.sources().items():
                if tensor is None or (tensor.retains_grad and not tensor.is_leaf):
                    raise fail("accelerator.branch_source", where=text(self._where))
                if not self._recorder.made_in_body(tensor):
                    found[edge] = tensor
        if meet_in_custom_code(list(found), f"{_Joined.__name__}Backward"):
            raise fail("accelerator.branch_custom", where=text(self._where))
        for tape in self._tapes:
            for scope in tape.scopes:
                scope.sources.clear()  # they would keep memory alive
        return found


def _flatten(returned: Any) -> tuple[list[Any], Any]:
    return pytree.tree_flatten(returned, is_leaf=lambda leaf: leaf is None)


class _Decision:
    """What the backward of a condition needs: which way it went, and the tapes of both ways."""

    def __init__(
        self, pred: torch.Tensor, tapes: list[Tape], sources: dict[Edge, torch.Tensor], where: tuple[str, int]
    ) -> None:
        self._pred = pred
        self._tapes: list[Tape] | None = tapes
        self._edges = list(sources)
        self._sources = [weakref.ref(tensor) for tensor in sources.values()]
        self._where = where

    def backward(self, grads: Grads) -> Grads:
        tapes = self._tapes
        if tapes is None:
            raise RuntimeError(
                "Trying to backward through a condition a second time: pass retain_graph=True."
            )
        if not torch._C._autograd._get_current_graph_task_keep_graph():
            self._tapes = None
        alive = [tensor for ref in self._sources if (tensor := ref()) is not None]
        functions = [functools.partial(tape.gradients, self._edges, grads) for tape in tapes]
        recorder = current_recorder()
        with hooks_off(alive):
            if recorder is None:
                return functions[0 if self._pred.item() else 1]()
            further = [Tape(tape) for tape in tapes]
            branches = _Branches(recorder, self._pred, further, self._where, backward=True)
            return branches.record(functions)  # type: ignore[no-any-return]


class _Joined(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, decision: _Decision, fixed: list[Any], places: list[Any], *sources: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        ctx.decision = decision
        ctx.mark_non_differentiable(*fixed)
        ctx.set_materialize_grads(False)
        return tuple(places)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor | None) -> Any:
        return None, None, None, *ctx.decision.backward(grads)
