"""Stand-ins for torch's graphs on devices that this machine lacks: they write calls down.

Each takes only what the real class or function takes, by its signature.
"""

from __future__ import annotations

import contextlib
import inspect
import threading

import torch

from ostinato.accelerator import _streams


class FakeGraph:
    """In place of torch.cuda.CUDAGraph and its like; ``real`` is set by ``fake_graph``."""

    real: type
    calls: list

    def __init__(self, *args, **kwargs):
        inspect.signature(self.real.__new__).bind(self.real, *args, **kwargs)
        self.calls.append(("make", args, kwargs))

    def __getattr__(self, name):
        signature = inspect.signature(getattr(self.real, name))

        def call(*args, **kwargs):
            signature.bind(self, *args, **kwargs)
            self.calls.append((name, args, kwargs))
            return (5, 0) if name == "pool" else None

        return call

    def __enter__(self):
        self.calls.append(("enter", (), {}))

    def __exit__(self, *_):
        self.calls.append(("exit", (), {}))


def fake_graph(real, calls):
    return type(real.__name__, (FakeGraph,), {"real": real, "calls": calls})


class FakeDevice:
    """A machine that has a ``kind`` of accelerator, entered streams and all."""

    def __init__(self, monkeypatch, kind):
        self.calls = []
        self.capturing = False
        self.stream = "initial"  # of the calling thread; other threads have entered none
        self.end_error = None
        here = threading.get_ident()
        patch = monkeypatch.setattr
        accelerator = torch.accelerator
        patch(accelerator, "current_accelerator", lambda check_available=False: torch.device(kind))
        patch(accelerator, "current_device_index", lambda: 0)
        patch(
            accelerator,
            "current_stream",
            lambda device=None: self.stream if threading.get_ident() == here else "initial",
        )
        module = getattr(torch, kind)
        patch(module, "is_initialized", lambda: True)
        patch(module, "is_current_stream_capturing", lambda: self.capturing)
        patch(module, "current_stream", lambda device=None: self.stream)
        patch(module, "graph_pool_handle", lambda: (0, 4000))
        for name in ("device", "stream"):
            patch(module, name, self._context(name, getattr(module, name)))
        patch(module, "graph", self._context("graph", module.graph))
        _streams._initial_stream.cache_clear()

    def _context(self, name, real):
        signature = inspect.signature(real)

        @contextlib.contextmanager
        def context(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            self.calls.append((f"enter {name}", tuple(bound.arguments.values())[1:], kwargs))
            if name == "graph":
                self.capturing = True
            try:
                yield
            finally:
                self.capturing = self.capturing and name != "graph"
                self.calls.append((f"exit {name}", (), {}))
            if name == "graph" and self.end_error is not None:
                raise self.end_error

        return context

    @property
    def names(self):
        return [name for name, _, _ in self.calls]

    def options(self, name):
        """The keywords of the one call of ``name``."""
        (found,) = [kwargs for called, _, kwargs in self.calls if called == name]
        return found
