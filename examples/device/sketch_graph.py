"""How Ostinato captures on the sketch device: what the author of a device writes.

Its captures are like those of real hardware. Nothing runs: a launch is written down, with tensors of the
right shapes as its results, and what would have to wait for a value is refused. A replay launches again.
"""

from __future__ import annotations

import threading
from typing import Any

import sketch_device
import torch
from torch.utils import _pytree as pytree

from ostinato.accelerator import CaptureError, GraphImplInterface, ReplayError, register_graph_impl

_COPY = torch.ops.aten.copy_.default
_RESIZE = torch.ops.aten.resize_.default


class Recording:
    """The launches of one capture: operator, arguments, and the tensors that its results lie in."""

    def __init__(self) -> None:
        self.launches: list[tuple[Any, Any, Any, list[torch.Tensor]]] = []
        self.made: set[int] = set()  # addresses of memory that the capture has made

    def __call__(self, op: Any, args: Any, kwargs: Any) -> Any:
        """Asks the meta device, which knows shapes and computes nothing, for the results."""
        if op is _COPY and args[0].device.type == "cpu":
            raise _refusal(op, "waits for the device to copy to the host")
        metas: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

        def enter(x: torch.Tensor) -> torch.Tensor:
            made = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")
            return metas.setdefault(id(x), (x, made))[1]

        results: list[torch.Tensor] = []

        def leave(out: torch.Tensor) -> torch.Tensor:
            for x, meta in metas.values():
                if meta is out:
                    return x
            results.append(torch.empty_strided(out.shape, out.stride(), dtype=out.dtype, device="sketch"))
            self.made.add(results[-1].untyped_storage()._cdata)
            return results[-1]

        meta_args, meta_kwargs = pytree.tree_map_only(torch.Tensor, enter, (args, kwargs))
        try:
            out = op(*meta_args, **meta_kwargs)
        except RuntimeError as error:  # of NotImplementedError too: an operator that knows no shapes
            raise _refusal(op, f"has no result before it runs ({error})") from error
        for x, meta in metas.values():
            if meta.shape != x.shape:
                self._resize(op, x, meta.shape)
        out = pytree.tree_map_only(torch.Tensor, leave, out)
        self.launches.append((op, args, kwargs, results))
        return out

    def _resize(self, op: Any, x: torch.Tensor, shape: torch.Size) -> None:
        if x.untyped_storage()._cdata not in self.made and x.untyped_storage().nbytes():
            raise _refusal(op, "resizes memory that was there before the capture")
        sketch_device.run(_RESIZE, (x, shape), {})
        self.made.add(x.untyped_storage()._cdata)

    def replay(self) -> None:
        for op, args, kwargs, results in self.launches:
            before = {id(x) for x in pytree.tree_leaves((args, kwargs))}
            out = sketch_device.run(op, args, kwargs)
            fresh = (
                x for x in pytree.tree_leaves(out) if isinstance(x, torch.Tensor) and id(x) not in before
            )
            for target, x in zip(results, fresh, strict=True):
                sketch_device.run(_COPY, (target, x), {})


class SketchGraph(GraphImplInterface):
    """The life cycle of one graph."""

    supports = frozenset({"parallel_capture"})

    def __init__(self, numerics: str, debug: bool) -> None:
        super().__init__(numerics, debug)
        self._recording: Recording | None = None
        self._replaying = threading.Lock()

    def capture_begin(self, pool: Any, capture_error_mode: str, device: torch.device) -> None:
        self._recording = Recording()
        sketch_device.record_launches(self._recording)

    def capture_end(self, failed: bool) -> None:
        sketch_device.record_launches(None)
        if failed:
            self._recording = None

    def is_capturing(self) -> bool:
        return self._recording is not None and sketch_device.recorder() is self._recording

    def instantiate(self) -> None:
        return None  # what was written down can be launched as it is

    def replay(self) -> None:
        if sketch_device.recorder() is not None:
            raise CaptureError("A graph cannot be replayed inside a capture.", "replay it outside")
        if not self._replaying.acquire(blocking=False):
            raise ReplayError(
                "Another thread is replaying this graph.", "give each thread a graph of its own"
            )
        try:
            with torch.inference_mode():  # no autograd, and no version counters
                self._recording.replay()
        finally:
            self._replaying.release()

    def reset(self) -> None:
        self._recording = None

    def stats(self) -> dict[str, Any]:
        return {"nodes": len(self._recording.launches)}


def _refusal(op: Any, why: str) -> CaptureError:
    return CaptureError(
        f"{op} {why}, and nothing runs while the device captures.", "keep it outside the capture"
    )


register_graph_impl("sketch", SketchGraph)
