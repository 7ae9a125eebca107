"""CUDA, XPU and the other accelerators of torch, on a machine without them: the calls that torch gets."""

from __future__ import annotations

import contextlib

import pytest
import torch

import ostinato as ost
from ostinato import UsageError
from ostinato.accelerator import CaptureError, Graph, ReplayError, _registry, _streams
from ostinato.accelerator._backends import _conditional, accelerator, cuda, xpu

from .fake_devices import FakeDevice, fake_graph
from .support import refuses

GRAPHS = {"cuda": (torch.cuda, "CUDAGraph"), "xpu": (torch.xpu, "XPUGraph")}


@pytest.fixture(params=GRAPHS)
def device(request, monkeypatch):
    kind = request.param
    fake = FakeDevice(monkeypatch, kind)
    module, name = GRAPHS[kind]
    monkeypatch.setattr(module, name, fake_graph(getattr(module, name), fake.calls))
    fake.kind = kind
    yield fake
    _streams._initial_stream.cache_clear()


def test_the_calls_of_a_capture(device):
    graph = Graph(device=device.kind)
    with graph:
        assert ost.accelerator.is_capturing()
    assert not ost.accelerator.is_capturing()
    graph.replay()
    graph.reset()
    assert device.names == [
        *("make", "enter device", "enter stream", "enter graph"),
        *("exit graph", "exit stream", "exit device", "replay", "reset"),
    ]
    assert device.options("make") == {"keep_graph": False}
    options = device.options("enter graph")
    assert options["pool"] == graph.pool() == (0, 4000)
    assert options["stream"] is None  # torch's own side stream


def test_an_entered_stream_names_the_device_and_is_captured_on(device):
    assert _streams.capture_device().type == "cpu"
    device.stream = "mine"
    assert _streams.capture_device() == torch.device(device.kind, 0)
    with Graph(pool=(3, 0)):
        pass
    options = device.options("enter graph")
    assert options["stream"] == "mine"
    assert options["pool"] == (3, 0)
    assert ost.accelerator.graph_pool_handle() == (0, 4000)
    device.stream = "initial"
    assert ost.accelerator.graph_pool_handle() != (0, 4000)  # the CPU's


def test_a_device_that_nobody_uses_is_not_asked(device, monkeypatch):
    monkeypatch.setattr(getattr(torch, device.kind), "is_initialized", lambda: False)
    device.stream = "mine"
    assert _streams.capture_device().type == "cpu"
    assert not ost.accelerator.is_capturing()


def test_keep_graph_and_debugging_reach_torch(device, tmp_path):
    graph = Graph(keep_graph=True, device=device.kind)
    graph.enable_debug_mode()
    with graph:
        pass
    assert "instantiate" not in device.names
    graph.instantiate()
    graph.debug_dump(tmp_path / "g.dot")
    assert device.options("make") == {"keep_graph": True}
    assert device.names.index("enable_debug_mode") < device.names.index("enter graph")
    assert device.names.count("instantiate") == 1
    assert ("debug_dump", (str(tmp_path / "g.dot"),), {}) in device.calls


def test_captures_do_not_nest_and_replays_wait_for_their_end(device):
    done = Graph(device=device.kind)
    with done:
        pass
    with Graph(device=device.kind):
        refuses(Graph(device=device.kind).capture_begin, CaptureError, "nested")
        refuses(done.replay, CaptureError, "replay_in_capture")
    with Graph():  # the CPU is another device
        torch.ones(1) + 1
        done.replay()
    refuses(Graph(device=device.kind).replay, ReplayError, "nothing_captured")


def test_a_capture_that_torch_began_counts(device):
    device.capturing = True
    assert ost.accelerator.is_capturing()
    refuses(Graph(device=device.kind).capture_begin, CaptureError, "nested")


def test_the_error_of_the_block_goes_on_and_what_follows_from_it_is_not_shown(device):
    graph = Graph(device=device.kind)
    device.end_error = RuntimeError("the capture was invalidated")
    with pytest.raises(LookupError), graph:
        raise LookupError
    assert device.names[-2:] == ["exit stream", "exit device"]
    refuses(graph.replay, ReplayError, "nothing_captured")
    device.end_error = None
    with graph:
        pass
    graph.replay()


def test_what_the_runtime_refuses_at_the_end_is_a_capture_error(device):
    device.end_error = RuntimeError("operation not permitted\nCompile with ...")
    graph = Graph(device=device.kind)
    graph.capture_begin()
    error = refuses(graph.capture_end, CaptureError, "device_refused")
    assert error.message.endswith("operation not permitted")
    assert device.names[-2:] == ["exit stream", "exit device"]
    refuses(graph.replay, ReplayError, "nothing_captured")


@pytest.mark.parametrize("mode", ["default", "global", "thread_local", "relaxed"])
def test_capture_error_modes(device, mode):
    graph = Graph(device=device.kind, capture_error_mode=mode)
    if device.kind == "xpu" and mode != "default":
        error = refuses(graph.capture_begin, UsageError, "mode_lacking")
        assert mode in error.message
        assert not ost.accelerator.is_capturing()
        return
    with graph:
        pass
    if device.kind == "cuda":
        wanted = "global" if mode == "default" else mode
        assert device.options("enter graph")["capture_error_mode"] == wanted


def test_the_registry_finds_them():
    assert _registry.implementation("cuda") is cuda.CudaGraph
    assert _registry.implementation("xpu") is xpu.XpuGraph


# ---- any other accelerator ----------------------------------------------------
def test_an_accelerator_without_a_file_of_its_own(monkeypatch):
    """Taken by torch.accelerator.Graph, which knows the device's own names of pools."""
    fake = FakeDevice(monkeypatch, "xpu")
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available=False: MTIA)
    monkeypatch.setattr(_registry, "_registered", dict(_registry._registered))
    monkeypatch.setattr(torch, "get_device_module", lambda device: torch.xpu)
    monkeypatch.setattr(torch, "Stream", lambda device: contextlib.nullcontext())
    monkeypatch.setattr(accelerator, "Graph", fake_graph(accelerator.Graph, fake.calls))
    first = Graph(device="mtia", capture_error_mode="relaxed")
    with first:
        pass
    with Graph(device="mtia", pool=first.pool()):
        pass
    made = [(args, kwargs) for name, args, kwargs in fake.calls if name == "make"]
    assert made == [
        ((False,), {"pool": None, "capture_error_mode": "relaxed"}),
        ((False,), {"pool": (5, 0), "capture_error_mode": "default"}),
    ]
    assert fake.names == ["make", "enter", "pool", "exit"] + ["make", "enter", "exit"]


MTIA = torch.device("mtia", 0)


# ---- torch.cond ---------------------------------------------------------------
VERSIONS = {None: "not built for CUDA", "11.8": "11.8", "12.3": "12.3", "12.4": None, "13.0": None}


@pytest.mark.parametrize("version", VERSIONS)
def test_conditional_nodes_need_cuda_12_4(version, monkeypatch):
    monkeypatch.setattr(torch.version, "cuda", version)
    monkeypatch.setattr(torch._C._CUDAGraph, "begin_capture_to_if_node", None, raising=False)
    why = _conditional.missing()
    if VERSIONS[version] is None:
        assert why is None
        return
    assert VERSIONS[version] in why
    x = torch.ones(2)
    cond = torch.ops.higher_order.cond
    with _conditional.ControlFlow():
        error = refuses(
            lambda: cond(x.sum() > 0, torch.sin, torch.cos, (x,)), CaptureError, "conditional_nodes"
        )
    assert __file__ in error.message
    assert why in error.message


def test_conditions_become_nodes_of_torch_also_nested_ones(monkeypatch):
    """On a stand-in for the graph that is being captured; both branches are recorded, each once."""
    bodies = []

    class Capturing:
        def begin_capture_to_if_node(self, predicate):
            bodies.append(bool(predicate))

        def end_capture_to_conditional_node(self):
            bodies.append("end")

    monkeypatch.setattr(_conditional, "missing", lambda: None)
    monkeypatch.setattr(
        torch.cuda.CUDAGraph, "get_currently_capturing_graph", staticmethod(Capturing), raising=False
    )
    monkeypatch.setattr(torch.Tensor, "is_cuda", True)
    cond = torch.ops.higher_order.cond
    x = torch.tensor(3.0)

    def inner(t):
        return cond(t > 10, lambda v: (v + 1,), lambda v: (v - 1,), (t,))

    with _conditional.ControlFlow():
        (out,) = cond(x > 0, inner, lambda v: (v * 2,), (x,))
    assert bodies == [True, False, "end", True, "end", "end", False, "end"]
    assert out.item() == 6  # on this stand-in the bodies run, one after the other


def test_a_loop_is_refused_by_name():
    loop = torch.ops.higher_order.while_loop
    x = torch.zeros(1)
    with _conditional.ControlFlow():
        error = refuses(
            lambda: loop(lambda t: t < 3, lambda t: (t + 1,), (x,), ()), CaptureError, "conditional_nodes"
        )
    assert error.message.startswith("while_loop at ")
