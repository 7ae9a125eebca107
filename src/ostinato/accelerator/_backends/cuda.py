"""Capture and replay on CUDA and ROCm devices: torch.cuda.CUDAGraph behind the calls of all devices."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from .. import _streams
from . import _conditional
from ._torch import TorchGraph


class CudaGraph(TorchGraph):
    """Captures on the stream that was entered, else on the side stream that torch.cuda.graph keeps."""

    supports = frozenset() if _conditional.missing() else frozenset({"cond"})
    device_type = "cuda"

    @classmethod
    def new_pool(cls) -> tuple[int, int]:
        return torch.cuda.graph_pool_handle()

    def _begin(
        self, contexts: contextlib.ExitStack, pool: Any, capture_error_mode: str, device: torch.device
    ) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph(keep_graph=self.keep_graph)
        if self.debug:
            graph.enable_debug_mode()
        contexts.enter_context(torch.cuda.device(device))
        current = torch.cuda.current_stream()
        # torch.cuda.graph leaves its stream entered where the runtime refuses the capture at its end.
        contexts.enter_context(torch.cuda.stream(current))
        contexts.enter_context(
            torch.cuda.graph(
                graph,
                pool=pool,
                stream=current if _streams.on_side_stream(device) else None,
                capture_error_mode="global" if capture_error_mode == "default" else capture_error_mode,
            )
        )
        contexts.enter_context(_conditional.ControlFlow())
        return graph


IMPLEMENTATION = CudaGraph
