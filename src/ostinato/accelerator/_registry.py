"""Which device captures how: the interface, and the one registry that all devices use."""

from __future__ import annotations

import abc
import importlib
import itertools
import os
from typing import Any, ClassVar

import torch

from .._errors import fail
from ._dump import rendered
from ._records import NodeRecord

# Device types that Ostinato itself brings: where their module lies.
_BUILT_IN = {"cpu": "cpu", "cuda": "cuda", "xpu": "xpu"}
# For every other accelerator: the graph that torch has for it.
_OF_TORCH = "accelerator"
_pools = itertools.count(1)
_registered: dict[str, type[GraphImplInterface]] = {}


class GraphImplInterface(abc.ABC):
    """What a device implements to be captured and replayed.

    One instance stands behind one ``Graph``. The calls come in the order of the
    life cycle: ``capture_begin``, ``capture_end``, ``instantiate``, ``replay``
    any number of times, ``reset``.

    ``supports`` names what this device's captures take beside plain operators, of
    "cond", "while_loop" (decided at replay), "nodes" (readable records) and
    "parallel_capture" (two threads may capture at the same time).
    ``ostinato.testing`` reports what is not named as lacking, and does not check it.
    """

    supports: ClassVar[frozenset[str]] = frozenset()
    keep_graph = False  # whether ``instantiate`` may come again, after changes to the recording

    def __init__(self, numerics: str, debug: bool) -> None:
        self.numerics = numerics
        self.debug = debug
        self.weights: frozenset[int] = frozenset()  # storages that change only where a version counter tells
        self.frozen = False  # whether these will never change

    @abc.abstractmethod
    def capture_begin(self, pool: Any, capture_error_mode: str, device: Any) -> None:
        """Starts recording what this thread runs on ``device``; ``pool`` is a pool handle."""

    @abc.abstractmethod
    def capture_end(self, failed: bool) -> None:
        """Stops recording and puts all tensors back; ``failed`` where the captured code raised."""

    @abc.abstractmethod
    def instantiate(self) -> None:
        """Makes the recording ready to replay."""

    @abc.abstractmethod
    def replay(self) -> None:
        """Runs the recording once."""

    @abc.abstractmethod
    def reset(self) -> None:
        """Forgets the recording and gives its memory back."""

    @abc.abstractmethod
    def is_capturing(self) -> bool:
        """Whether this instance is recording on the calling thread."""

    def refresh_weights(self) -> None:
        """Repacks weights that were written where no version counter saw it."""
        return None

    @classmethod
    def new_pool(cls) -> tuple[int, int]:
        """A handle of a memory pool that no graph uses yet."""
        return (0, next(_pools))

    def nodes(self) -> tuple[NodeRecord, ...]:
        """A readable record for each captured node."""
        return ()

    def debug_dump(self, path: str | os.PathLike[str]) -> None:
        """Writes the recording to ``path``: a page for .html, data for .json, else Graphviz."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(rendered(os.fspath(path), self.nodes(), self.numerics, self.stats()))

    def profile(self, rounds: int) -> tuple[tuple[int, float], ...]:
        """Replays that often, and gives for each step the number of its node and the seconds it took."""
        return ()

    def stats(self) -> dict[str, Any]:
        """Figures about the recording."""
        return {}


def register_graph_impl(device_type: str, impl: type[GraphImplInterface]) -> None:
    """Makes ``impl`` the way in which graphs of ``device_type`` ("cpu", "cuda", …) are captured.

    Raises UsageError where ``impl`` leaves a part of GraphImplInterface out.
    """
    missing = [
        name
        for name in sorted(GraphImplInterface.__abstractmethods__)
        if not callable(getattr(impl, name, None)) or name in getattr(impl, "__abstractmethods__", ())
    ]
    if missing:
        raise fail("accelerator.interface", implementation=impl, missing=", ".join(missing))
    _registered[device_type] = impl


def has_implementation(device_type: str) -> bool:
    """Whether graphs of ``device_type`` can be captured, as far as is known without loading anything."""
    return device_type in _registered or device_type in _BUILT_IN or _torch_has_graphs(device_type)


def implementation(device_type: str) -> type[GraphImplInterface]:
    """The implementation for ``device_type``, found lazily."""
    if device_type not in _registered and has_implementation(device_type):
        file = _BUILT_IN.get(device_type, _OF_TORCH)
        module = importlib.import_module(f"ostinato.accelerator._backends.{file}")
        register_graph_impl(device_type, module.IMPLEMENTATION)
    if device_type not in _registered:
        known = ", ".join(sorted({*_BUILT_IN, *_registered}))
        raise fail("accelerator.no_implementation", device=device_type, known=known)
    return _registered[device_type]


def _torch_has_graphs(device_type: str) -> bool:
    accelerator = torch.accelerator.current_accelerator()
    return (
        accelerator is not None and accelerator.type == device_type and hasattr(torch._C, "_acceleratorGraph")
    )
