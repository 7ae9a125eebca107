"""What the devices share whose graphs torch itself brings: the life cycle around them."""

from __future__ import annotations

import abc
import contextlib
import os
from typing import Any

import torch

from ..._errors import fail
from .. import _streams
from .._registry import GraphImplInterface


class TorchGraph(GraphImplInterface):
    """Stands on a graph of torch's, which the runtime of the device records and replays.

    Nothing runs during such a capture, so there is nothing to put back, and what the
    runtime forbids in a capture it refuses itself.
    """

    device_type: str

    def __init__(self, numerics: str, debug: bool) -> None:
        super().__init__(numerics, debug)
        self._graph: Any = None
        self._entered: contextlib.ExitStack | None = None  # while a capture is under way

    @abc.abstractmethod
    def _begin(
        self, contexts: contextlib.ExitStack, pool: Any, capture_error_mode: str, device: torch.device
    ) -> Any:
        """Makes a graph of torch's, begins its capture, and leaves to ``contexts`` what ends it."""

    # ---- capture --------------------------------------------------------------
    def capture_begin(self, pool: Any, capture_error_mode: str, device: torch.device) -> None:
        if _streams.torch_is_capturing(None):
            raise fail("accelerator.nested")
        with contextlib.ExitStack() as contexts:
            self._graph = self._begin(contexts, pool, capture_error_mode, device)
            self._entered = contexts.pop_all()

    def capture_end(self, failed: bool) -> None:
        contexts, self._entered = self._entered, None
        if contexts is None:
            raise fail("accelerator.not_capturing")
        try:
            contexts.close()
        except RuntimeError as error:
            self._graph = None
            if not failed:  # else the error that ended the block is on its way, and this follows from it
                reason = str(error).partition("\n")[0]
                raise fail("accelerator.device_refused", device=self.device_type, reason=reason) from error
        if failed:
            self._graph = None

    def is_capturing(self) -> bool:
        return self._entered is not None

    # ---- replay ---------------------------------------------------------------
    def instantiate(self) -> None:
        if self.keep_graph:  # else the end of the capture has done it
            self._graph.instantiate()

    def replay(self) -> None:
        if self._graph is None:
            raise fail("accelerator.nothing_captured", call="replay")
        if _streams.torch_is_capturing(None):
            raise fail("accelerator.replay_in_capture")
        self._graph.replay()

    def reset(self) -> None:
        if self._graph is not None:
            self._graph.reset()
        self._graph = None

    def debug_dump(self, path: str | os.PathLike[str]) -> None:
        self._graph.debug_dump(os.fspath(path))
