"""What stands at the names of ``torch.accelerator`` after ``ost.install()``.

Each function gets what stood there before, or None, and returns what shall stand there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from . import _graph, _make_graphed


class GraphFactory:
    """Makes a graph of torch's for the accelerator that is there, and one of Ostinato's otherwise.

    It can be called, subclassed and asked for instances like the class that it stands for.
    """

    def __init__(self, original: type | None) -> None:
        self._original = original
        functools.update_wrapper(self, original or _graph.Graph, updated=())

    def __call__(
        self,
        keep_graph: bool = False,
        *,
        pool: tuple[int, int] | None = None,
        capture_error_mode: str = "default",
        device: torch.device | str | None = None,
        numerics: str | None = None,
    ) -> Any:
        options: dict[str, Any] = {"pool": pool, "capture_error_mode": capture_error_mode}
        if device is None and numerics is None:
            return self._default()(keep_graph, **options)
        return _graph.Graph(keep_graph, device=device, numerics=numerics or "exact", **options)

    def _default(self) -> Any:
        """The class whose graphs torch's own arguments ask for."""
        return self._original if self._original and torch.accelerator.is_available() else _graph.Graph

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, tuple(self._kinds()))

    def __subclasscheck__(self, kind: type) -> bool:
        return issubclass(kind, tuple(self._kinds()))

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (self._default(),)

    def _kinds(self) -> list[type]:
        return [_graph.Graph] if self._original is None else [self._original, _graph.Graph]


def graph(original: type | None) -> Any:
    return GraphFactory(original)


def graph_pool_handle(original: Any) -> Any:
    return _by_device(original, _graph.graph_pool_handle)


def is_capturing(original: Any) -> Any:
    return _graph.is_capturing  # asks torch about its own captures too


def make_graphed_callables(original: Any) -> Any:
    return _by_device(original, _make_graphed.make_graphed_callables)


def _by_device(original: Any, ours: Callable[..., Any]) -> Callable[..., Any]:
    """``ours`` for tensors of the CPU and where no accelerator is; else the original, if torch has one."""
    if original is None:
        return ours

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        tensors = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        here = tensors[0].is_cpu if tensors else not torch.accelerator.is_available()
        return (ours if here else original)(*args, **kwargs)

    return call
