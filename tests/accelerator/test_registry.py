"""Another device captures through the same registry as the CPU."""

from __future__ import annotations

import pytest
import torch

import ostinato as ost
from ostinato.accelerator import GraphImplInterface, _registry


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(_registry, "_registered", dict(_registry._registered))


class Notebook(GraphImplInterface):
    """Writes down the calls of the life cycle."""

    calls: list = []  # noqa: RUF012 - shared on purpose: the test reads it

    def capture_begin(self, pool, capture_error_mode, device):
        self.calls.append(("begin", pool, capture_error_mode, device.type))

    def capture_end(self, failed):
        self.calls.append(("end", failed))

    def instantiate(self):
        self.calls.append(("instantiate",))

    def replay(self):
        self.calls.append(("replay",))

    def reset(self):
        self.calls.append(("reset",))

    def is_capturing(self):
        return False


def test_a_registered_device_gets_the_calls_of_the_life_cycle(registry):
    Notebook.calls.clear()
    ost.accelerator.register_graph_impl("meta", Notebook)
    graph = ost.accelerator.Graph(device="meta", pool=(0, 77), capture_error_mode="relaxed")
    with graph:
        torch.empty(3, device="meta").sin()
    graph.replay()
    graph.reset()
    assert Notebook.calls == [
        ("begin", (0, 77), "relaxed", "meta"),
        ("end", False),
        ("instantiate",),
        ("replay",),
        ("reset",),
    ]


def test_a_failed_capture_is_told_to_the_device(registry):
    Notebook.calls.clear()
    ost.accelerator.register_graph_impl("meta", Notebook)
    with pytest.raises(ZeroDivisionError), ost.accelerator.Graph(device="meta"):
        raise ZeroDivisionError
    assert Notebook.calls[-1] == ("end", True)


def test_an_incomplete_implementation_is_refused_by_name(registry):
    class Incomplete(GraphImplInterface):
        def replay(self):
            return None

    with pytest.raises(ost.UsageError, match="capture_begin, capture_end"):
        ost.accelerator.register_graph_impl("meta", Incomplete)


def test_an_unknown_device_names_the_known_ones():
    graph = ost.accelerator.Graph(device="vulkan")
    with pytest.raises(ost.UsageError, match=r"'vulkan' \(known: .*cpu"):
        graph.capture_begin()


def test_the_cpu_is_registered_by_the_same_call():
    from ostinato.accelerator._backends.cpu import CpuGraph

    assert _registry.implementation("cpu") is CpuGraph
