"""``ost.accelerator.Graph``: capture once, replay many times."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from typing import Any

import torch

from .._errors import fail
from . import _streams
from ._listing import listing
from ._records import NodeRecord
from ._registry import GraphImplInterface, implementation

_MODES = ("default", "global", "thread_local", "relaxed")


class _UnderWay(threading.local):
    """The graphs that the calling thread is capturing: at most one a device."""

    def __init__(self) -> None:
        self.graphs: list[Graph] = []


_under_way = _UnderWay()


def graph_pool_handle() -> tuple[int, int]:
    """A new handle of a memory pool; graphs made with the same handle share their intermediates' memory."""
    return implementation(_streams.capture_device().type).new_pool()


class Graph:
    """Records what torch runs on a device, and runs it again without Python.

    Args:
        keep_graph: if true, ``capture_end`` leaves the recording as it is, and
            ``instantiate`` (or the first ``replay``) makes it ready to run.
        pool: a handle from ``graph_pool_handle()`` or another graph's ``pool()``.
            Graphs of one pool must not be replayed at the same time.
        capture_error_mode: "default", "global", "thread_local" or "relaxed", as in
            torch. On the CPU they do not differ: a capture belongs to its thread,
            nothing that another thread does can disturb it, and what conflicts with
            it is refused under "relaxed" too.
        device: the device to capture on; by default the accelerator if the caller
            has entered a stream of it, else the CPU.
        numerics: "exact" replays bit for bit what eager gives on as many threads;
            "fast" may fuse and reassociate.

    A capture has no side effect on tensors or generators; only ``replay`` has.
    Tensors that were there before are used by address: ``x.copy_(new)`` feeds a
    graph. Tensors made inside keep their addresses, and every replay writes them.

    Raises:
        CaptureError: what ran inside cannot be captured; names operator and line.
        UsageError: an argument has a value that is not taken.

    Example::

        x = torch.zeros(8)
        g = ost.accelerator.Graph()
        with g:
            y = x.sin() + 1
        x.copy_(torch.arange(8.0))
        g.replay()  # y is now sin(x) + 1
    """

    def __init__(
        self,
        keep_graph: bool = False,
        *,
        pool: tuple[int, int] | None = None,
        capture_error_mode: str = "default",
        device: torch.device | str | None = None,
        numerics: str = "exact",
    ) -> None:
        if capture_error_mode not in _MODES:
            raise fail("accelerator.error_mode", value=capture_error_mode)
        if numerics not in ("exact", "fast"):
            raise fail("accelerator.numerics", value=numerics)
        if pool is not None and not (isinstance(pool, tuple) and len(pool) == 2):
            raise fail("accelerator.pool", value=pool)
        self.keep_graph = keep_graph
        self.graph_pool = pool
        self.capture_error_mode = capture_error_mode
        self.device = None if device is None else torch.device(device)
        self.numerics = numerics
        self._debug = False
        self._weights: frozenset[int] = frozenset()
        self._frozen = False
        self._impl: GraphImplInterface | None = None
        self._state = "empty"  # then "capturing", "captured" and "ready"
        self._thread: int | None = None
        self._capture_device = torch.device("cpu")  # where the latest capture was begun

    # ---- capture --------------------------------------------------------------
    def capture_begin(self) -> None:
        """Starts recording on the calling thread. CaptureError where a capture is under way already."""
        if self._state == "capturing":
            raise fail("accelerator.nested" if self._thread == threading.get_ident() else "accelerator.busy")
        if self._state != "empty":
            raise fail("accelerator.has_graph")
        device = self.device or _streams.capture_device()
        if any(graph._capture_device.type == device.type for graph in _under_way.graphs):
            raise fail("accelerator.nested")
        impl = implementation(device.type)(self.numerics, self._debug)
        impl.weights, impl.frozen = self._weights, self._frozen
        impl.keep_graph = self.keep_graph
        if self.graph_pool is None:
            self.graph_pool = impl.new_pool()
        impl.capture_begin(self.graph_pool, self.capture_error_mode, device)
        _under_way.graphs.append(self)
        self._capture_device = device
        self._impl = impl
        self._thread = threading.get_ident()
        self._state = "capturing"

    def capture_end(self) -> None:
        """Stops recording; with ``keep_graph=False`` also makes the graph ready to replay."""
        self._end(failed=False)

    def _end(self, failed: bool) -> None:
        if self._state != "capturing" or self._impl is None:
            raise fail("accelerator.not_capturing")
        if self._thread != threading.get_ident():
            raise fail("accelerator.busy")
        self._state = "empty"
        _under_way.graphs.remove(self)
        impl, self._impl = self._impl, None
        impl.capture_end(failed)
        if failed:
            return
        self._impl = impl
        self._state = "captured"
        if not self.keep_graph:
            self._instantiate(impl)

    def _instantiate(self, impl: GraphImplInterface) -> None:
        impl.instantiate()
        self._state = "ready"

    def instantiate(self) -> None:
        """Makes a graph that was captured with ``keep_graph=True`` ready to replay."""
        impl = self._captured("instantiate")
        if self._state == "ready" and not self.keep_graph:
            raise fail("accelerator.not_kept")
        if self._state != "ready":
            self._instantiate(impl)

    def __enter__(self) -> Graph:
        self.capture_begin()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._end(failed=kind is not None)

    # ---- replay ---------------------------------------------------------------
    def replay(self) -> None:
        """Runs the recording once. ReplayError before a capture, or where an operator fails."""
        impl = self._impl
        if self._state != "ready" or impl is None:
            impl = self._captured("replay")
            self._instantiate(impl)
        impl.replay()

    def reset(self) -> None:
        """Forgets the recording, so that the graph can capture again."""
        if self._state == "capturing":
            self._end(failed=True)
        if self._impl is not None:
            self._impl.reset()
        self._impl = None
        self._state = "empty"

    def refresh_weights(self) -> None:
        """Repacks weights that were written through ``.data`` or NumPy, which no version counter sees."""
        self._captured("refresh_weights").refresh_weights()

    def _treat_as_weights(self, tensors: Iterable[torch.Tensor]) -> None:
        """Lets a capture pack these like parameters: they change only where their version counter tells."""
        self._weights = frozenset(t.untyped_storage()._cdata for t in tensors)

    def _freeze(self, tensors: Iterable[torch.Tensor]) -> None:
        """For the loader of deployed files, before a capture: nobody will ever change these weights.

        What is made of them alone is computed once, and replays need not look at them.
        """
        self._treat_as_weights(tensors)
        self._frozen = True

    def pool(self) -> tuple[int, int]:
        """The handle of this graph's memory pool."""
        if self.graph_pool is None:
            self.graph_pool = implementation((self.device or _streams.capture_device()).type).new_pool()
        return self.graph_pool

    def _captured(self, call: str) -> GraphImplInterface:
        if self._impl is None or self._state == "capturing":
            raise fail("accelerator.nothing_captured", call=call)
        return self._impl

    # ---- looking at it --------------------------------------------------------
    @property
    def nodes(self) -> tuple[NodeRecord, ...]:
        """A readable record for each captured node, in order."""
        if self._state == "captured":
            self.instantiate()
        return () if self._impl is None or self._state == "capturing" else self._impl.nodes()

    def stats(self) -> dict[str, Any]:
        """Figures: ``nodes``, ``steps`` by kind, ``python_operators``, ``pool_bytes``, ``outputs``."""
        impl = self._captured("stats")
        if self._state == "captured":
            self.instantiate()
        return impl.stats()

    def enable_debug_mode(self) -> None:
        """Allows ``debug_dump`` after the next capture."""
        self._debug = True

    def debug_dump(self, path: str | os.PathLike[str]) -> None:
        """Writes the graph to ``path``: a page for people where that ends in .html, data where it ends in
        .json, else the Graphviz language. Other devices than the CPU write what torch writes.
        """
        if not self._debug:
            raise fail("accelerator.debug_off")
        impl = self._captured("debug_dump")
        if self._state == "captured":
            self.instantiate()
        impl.debug_dump(path)

    def _profile(self, rounds: int) -> list[tuple[NodeRecord, float]]:
        """Replays so many times, and gives the seconds of each step with the node that it does."""
        impl = self._captured("profile")
        nodes = self.nodes
        return [(nodes[number], seconds) for number, seconds in impl.profile(rounds)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Refuses copies and pickles."""
        raise fail("accelerator.copied")

    def __str__(self) -> str:
        if self._state in ("empty", "capturing"):
            return f"Graph({self._state})"
        return listing(f"Graph({self._state}, {self.numerics})", self.nodes, self.stats())


def is_capturing(stream: torch.Stream | None = None) -> bool:
    """Whether the calling thread is recording on ``stream``, or on any; on the CPU all streams are one."""
    for graph in _under_way.graphs:
        if stream is None or stream.device.type == graph._capture_device.type:
            impl = graph._impl
            if impl is not None and impl.is_capturing():
                return True
    return _streams.torch_is_capturing(stream)
