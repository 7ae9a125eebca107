"""Capture and replay on any other accelerator for which torch.accelerator.Graph exists."""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar

import torch
from torch.accelerator.graphs import Graph  # from where `ost.install` leaves it alone

from .. import _streams
from ._torch import TorchGraph


class AcceleratorGraph(TorchGraph):
    """Captures on the stream that was entered, else on one made for this capture."""

    # Our handles and what the device calls these pools: it names a pool when a first graph uses it.
    _names: ClassVar[dict[tuple[int, int], tuple[int, int] | None]] = {}

    @classmethod
    def new_pool(cls) -> tuple[int, int]:
        handle = super().new_pool()
        cls._names[handle] = None
        return handle

    def _begin(
        self, contexts: contextlib.ExitStack, pool: Any, capture_error_mode: str, device: torch.device
    ) -> Graph:
        self.device_type = device.type
        name = self._names.get(pool, pool)
        graph = Graph(self.keep_graph, pool=name, capture_error_mode=capture_error_mode)  # type: ignore[arg-type]
        if self.debug:
            graph.enable_debug_mode()
        if not _streams.on_side_stream(device):
            contexts.enter_context(torch.Stream(device=device))
        contexts.enter_context(graph)
        if name is None:
            self._names[pool] = graph.pool()
        return graph


IMPLEMENTATION = AcceleratorGraph
