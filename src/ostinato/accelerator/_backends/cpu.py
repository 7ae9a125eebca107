"""Capture and replay on the CPU."""

from __future__ import annotations

import contextlib
import threading
import warnings
import weakref
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from ..._errors import fail
from .. import _passes
from .._capture import CaptureMode, Recorder
from .._control_flow import CONTROL_FLOW
from .._expand import expand
from .._forks import follow_forks
from .._guard import below_autograd, default_dtype
from .._plan import Plan
from .._process import direct_control_flow, eager_compile, module_paths, noted_seeding
from .._program import FusedNode, Program
from .._records import NodeRecord, Recorded
from .._registry import GraphImplInterface
from .._repair import repair
from .._steps import Builder
from .._tensors import Arena, Tensors
from .._watch import GradientWatch, OptimizerWatch, WatchMode

_DEVICE = torch.device("cpu")
_current = threading.local()
# By pool handle: a pool lives as long as a graph that uses it.
_arenas: weakref.WeakValueDictionary[tuple[int, int], Arena] = weakref.WeakValueDictionary()


class CpuGraph(GraphImplInterface):
    """Records below autograd in the calling thread, and replays through the native engine."""

    supports = frozenset({"cond", "while_loop", "nodes", "parallel_capture"})

    def __init__(self, numerics: str, debug: bool) -> None:
        super().__init__(numerics, debug)
        self._recorder: Recorder | None = None
        self._program: Program | None = None
        self._plan: Plan | None = None
        self._arena: Arena | None = None
        self._recorded: Recorded | None = None
        self._steps: list[tuple[int, str]] = []
        self._stats: dict[str, Any] = {}
        self._alone = False  # whether a replay is one call of the engine that never calls back into torch
        self._replaying = threading.Lock()
        self._below = below_autograd()  # one object for all replays: making it costs as much as a small step

    # ---- capture --------------------------------------------------------------
    def capture_begin(self, pool: Any, capture_error_mode: str, device: Any) -> None:
        follow_forks()
        self._pool = pool
        torch.clear_autocast_cache()  # a cast made before would not be part of the recording
        self._watch = WatchMode(CONTROL_FLOW)
        self._gradients = GradientWatch(self._watch)
        self._recorder = Recorder(_DEVICE, self._gradients)
        self._watch.recorder = self._recorder
        self._dtype = torch.get_default_dtype()
        self._modes = contextlib.ExitStack()
        self._modes.enter_context(eager_compile())
        self._modes.enter_context(direct_control_flow())
        self._modes.enter_context(noted_seeding())
        self._modes.enter_context(module_paths(self.numerics))
        self._modes.enter_context(OptimizerWatch())
        self._modes.enter_context(self._watch)
        self._modes.enter_context(CaptureMode(self._recorder, CONTROL_FLOW))
        _current.graph = self

    def capture_end(self, failed: bool) -> None:
        recorder = self._recorder
        if recorder is None:
            raise fail("accelerator.not_capturing")
        if getattr(_current, "graph", None) is not self:
            raise fail("accelerator.busy")
        self._recorder = None
        _current.graph = None
        try:
            self._modes.close()
            if failed:
                self._gradients.undo()
                return
            try:
                self._gradients.check()
            except BaseException:
                self._gradients.undo()
                raise
            program = recorder.finish()
        finally:
            torch.clear_autocast_cache()
            recorder.put_back()
        if not program.nodes:
            warnings.warn("The capture recorded nothing: its graph is empty.", stacklevel=4)
        self._program = program

    def is_capturing(self) -> bool:
        return self._recorder is not None and getattr(_current, "graph", None) is self

    # ---- replay ---------------------------------------------------------------
    def instantiate(self) -> None:
        with _disable_current_modes(), default_dtype(self._dtype):
            self._build()

    def _build(self) -> None:
        program = self._program
        assert program is not None
        repair(program)
        recorded = sum(1 for _ in program.walk())
        expand(program)
        if self.numerics == "fast":
            _passes.run(program, self.weights, self.frozen)
        self._arena = _arenas.setdefault(self._pool, Arena())
        tensors = Tensors(program, self._arena)
        builder = Builder(program, tensors, self.numerics, self.weights)
        for node in program.nodes:
            builder.add(node)
        self._plan = builder.finish()
        if self.frozen:
            self._plan.freeze()
        self._alone = self._plan.all_native and builder.self_contained
        self._stats = {
            "nodes": recorded,
            "steps": dict(builder.kinds),
            "python_operators": dict(builder.python_operators),
            "pool_bytes": tensors.pool_bytes,
            "outputs": tensors.outputs,
            "fused_nodes": sum(len(n.sources) for n in program.walk() if isinstance(n, FusedNode)),
        }
        self._steps = builder.steps
        self._recorded = Recorded(program, self.weights, builder.steps)
        self._program = None

    def replay(self) -> None:
        plan = self._plan
        if plan is None:
            raise fail("accelerator.nothing_captured", call="replay")
        if getattr(_current, "graph", None) is not None:
            raise fail("accelerator.replay_in_capture")
        if self._alone:
            plan.run_native()
        else:
            self._replay_guarded(plan)

    def _replay_guarded(self, plan: Plan) -> None:
        """A replay whose steps call into torch, or are Python."""
        if not self._replaying.acquire(blocking=False):
            raise fail("accelerator.replayed_elsewhere")
        try:
            with self._below:
                if torch.get_default_dtype() is self._dtype:  # nearly always: a context costs a step
                    plan.run()
                else:
                    with default_dtype(self._dtype):
                        plan.run()
        finally:
            self._replaying.release()

    def reset(self) -> None:
        self._plan = None
        self._arena = None
        self._program = None
        self._recorded = None
        self._stats = {}

    def refresh_weights(self) -> None:
        if self._plan is not None:
            self._plan.refresh()

    def nodes(self) -> tuple[NodeRecord, ...]:
        return () if self._recorded is None else self._recorded.records()

    def profile(self, rounds: int) -> tuple[tuple[int, float], ...]:
        self.replay()  # which raises where a step fails
        plan = self._plan
        assert plan is not None
        with self._replaying, self._below, default_dtype(self._dtype):
            seconds = plan.profile(rounds)
        return tuple((node, each) for (node, _), each in zip(self._steps, seconds, strict=True))

    def stats(self) -> dict[str, Any]:
        return dict(self._stats)


def capturing_graph() -> CpuGraph | None:
    """The graph that is recording on the calling thread."""
    return getattr(_current, "graph", None)


IMPLEMENTATION = CpuGraph
