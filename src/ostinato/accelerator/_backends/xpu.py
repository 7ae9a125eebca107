"""Capture and replay on Intel GPUs: torch.xpu.XPUGraph behind the calls of all devices."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from ..._errors import fail
from .. import _streams
from ._torch import TorchGraph


class XpuGraph(TorchGraph):
    """Captures on the stream that was entered, else on the side stream that torch.xpu.graph keeps."""

    device_type = "xpu"

    @classmethod
    def new_pool(cls) -> tuple[int, int]:
        return torch.xpu.graph_pool_handle()

    def _begin(
        self, contexts: contextlib.ExitStack, pool: Any, capture_error_mode: str, device: torch.device
    ) -> torch.xpu.XPUGraph:
        if capture_error_mode != "default":
            raise fail("accelerator.mode_lacking", value=capture_error_mode, device=self.device_type)
        graph = torch.xpu.XPUGraph(keep_graph=self.keep_graph)
        if self.debug:
            graph.enable_debug_mode()
        contexts.enter_context(torch.xpu.device(device))
        current = torch.xpu.current_stream()
        contexts.enter_context(torch.xpu.stream(current))
        stream = current if _streams.on_side_stream(device) else None
        contexts.enter_context(torch.xpu.graph(graph, pool=pool, stream=stream))
        return graph


IMPLEMENTATION = XpuGraph
