"""Which device captures how: the interface, and the one registry that all devices use."""

from __future__ import annotations

import abc
import importlib
from typing import Any

from .._errors import fail

# Device types that Ostinato itself brings: where their module lies.
_BUILT_IN = {"cpu": "cpu"}
_registered: dict[str, type[GraphImplInterface]] = {}


class GraphImplInterface(abc.ABC):
    """What a device implements to be captured and replayed.

    One instance stands behind one ``Graph``. The calls come in the order of the
    life cycle: ``capture_begin``, ``capture_end``, ``instantiate``, ``replay``
    any number of times, ``reset``.
    """

    def __init__(self, numerics: str, debug: bool) -> None:
        self.numerics = numerics
        self.debug = debug
        self.weights: frozenset[int] = frozenset()  # storages that change only where a version counter tells

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

    def freeze(self) -> None:
        """Told that no weight will change any more, so that replays need not look."""
        return None

    def nodes(self) -> tuple[Any, ...]:
        """A readable record for each captured node."""
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


def implementation(device_type: str) -> type[GraphImplInterface]:
    """The implementation for ``device_type``, found lazily."""
    if device_type not in _registered and device_type in _BUILT_IN:
        importlib.import_module(f"ostinato.accelerator._backends.{_BUILT_IN[device_type]}")
    if device_type not in _registered:
        known = ", ".join(sorted({*_BUILT_IN, *_registered}))
        raise fail("accelerator.no_implementation", device=device_type, known=known)
    return _registered[device_type]
