"""The life of a graph: begin, end, instantiate, replay, reset; calls at the wrong time, bad arguments."""

from __future__ import annotations

import warnings

import pytest
import torch

import ostinato as ost
from ostinato import UsageError
from ostinato.accelerator import CaptureError, Graph, ReplayError

from .support import refuses


def captured(**options):
    x = torch.arange(4.0)
    graph = Graph(**options)
    with graph:
        y = x * 2 + 1
    return graph, x, y


# ---- capture and replay -------------------------------------------------------
def test_with_statement_and_explicit_calls_record_the_same():
    graph, x, y = captured()
    explicit = Graph()
    explicit.capture_begin()
    z = x * 2 + 1
    explicit.capture_end()
    x.fill_(5)
    graph.replay()
    explicit.replay()
    assert torch.equal(y, torch.full((4,), 11.0))
    assert torch.equal(z, y)
    assert (
        [n.op for n in graph.nodes]
        == [n.op for n in explicit.nodes]
        == ["aten.mul.Tensor", "aten.add.Tensor"]
    )


def test_cpu_stream_can_be_entered_first():
    x = torch.ones(3)
    graph = Graph()
    with torch.Stream(device="cpu"), graph:
        y = x + 1
    x.fill_(4)
    graph.replay()
    assert y.tolist() == [5, 5, 5]


def test_empty_capture_warns_at_the_users_line_and_replays_as_nothing():
    graph = Graph()
    with pytest.warns(UserWarning, match="empty") as caught, graph:
        pass
    assert caught[0].filename == __file__
    graph.replay()
    assert graph.nodes == ()


def test_keep_graph_waits_for_instantiate_or_the_first_replay():
    graph, x, y = captured(keep_graph=True)
    graph.instantiate()
    graph.instantiate()  # a kept graph may be instantiated again
    x.fill_(1)
    graph.replay()
    assert torch.equal(y, x * 2 + 1)
    lazily, x, y = captured(keep_graph=True)
    x.fill_(1)
    lazily.replay()
    assert torch.equal(y, x * 2 + 1)


def test_reset_lets_the_graph_capture_again():
    graph, x, y = captured()
    graph.reset()
    refuses(graph.replay, ReplayError, "nothing_captured")
    assert graph.nodes == ()
    with graph:
        z = x - 1
    x.fill_(7)
    graph.replay()
    assert z.tolist() == [6, 6, 6, 6]
    assert y.tolist() == [1, 3, 5, 7]  # what the first capture had computed is left alone


def test_reset_inside_a_capture_ends_it():
    graph = Graph()
    graph.capture_begin()
    torch.ones(2) + 1
    graph.reset()
    assert not ost.accelerator.is_capturing()
    refuses(graph.replay, ReplayError, "nothing_captured")


# ---- calls at the wrong time --------------------------------------------------
def test_calls_before_a_capture():
    graph = Graph()
    for call in ("replay", "instantiate", "stats", "refresh_weights"):
        refuses(getattr(graph, call), ReplayError, "nothing_captured")
    refuses(graph.capture_end, CaptureError, "not_capturing")
    assert graph.nodes == ()
    graph.reset()


def test_calls_after_a_capture():
    graph, _, _ = captured()
    refuses(graph.capture_begin, CaptureError, "has_graph")
    refuses(graph.capture_end, CaptureError, "not_capturing")
    refuses(graph.instantiate, ReplayError, "not_kept")


def test_calls_inside_a_capture():
    done, x, y = captured()
    graph = Graph()
    with graph:
        z = x + 1
        refuses(Graph().capture_begin, CaptureError, "nested")
        refuses(graph.capture_begin, CaptureError, "nested")
        refuses(done.replay, CaptureError, "replay_in_capture")
        refuses(graph.replay, ReplayError, "nothing_captured")
        z = z * 2
    x.fill_(3)
    graph.replay()
    assert z.tolist() == [8, 8, 8, 8]
    assert y.tolist() == [1, 3, 5, 7]


# ---- arguments ----------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"numerics": "sloppy"}, "numerics"),
        ({"capture_error_mode": "strict"}, "error_mode"),
        ({"pool": 3}, "pool"),
        ({"pool": (1, 2, 3)}, "pool"),
    ],
)
def test_bad_arguments(options, code):
    refuses(lambda: Graph(**options), UsageError, code)


def test_device_without_an_implementation():
    refuses(Graph(device="meta").capture_begin, UsageError, "no_implementation")
    refuses(
        lambda: ost.accelerator.register_graph_impl("meta", type("Half", (), {"replay": print})),
        UsageError,
        "interface",
    )


# ---- looking at it ------------------------------------------------------------
def test_nodes_print_and_stats():
    graph, _, _ = captured()
    first = graph.nodes[0]
    assert first.op == "aten.mul.Tensor"
    assert first.inputs == ("x0:f32[4]",)
    assert first.where.startswith(__file__ + ":")
    assert str(graph).startswith("Graph(ready, exact): 2 nodes as 2 steps")
    assert "aten.add.Tensor" in str(graph)
    assert str(Graph()) == "Graph(empty)"
    stats = graph.stats()
    assert stats["nodes"] == 2
    assert sum(stats["steps"].values()) == 2
    assert stats["python_operators"] == {}


def test_debug_dump(tmp_path):
    graph, _, _ = captured()
    refuses(lambda: graph.debug_dump(tmp_path / "g.dot"), ReplayError, "debug_off")
    graph = Graph()
    graph.enable_debug_mode()
    refuses(lambda: graph.debug_dump(tmp_path / "g.dot"), ReplayError, "nothing_captured")
    with graph:
        torch.ones(2).add(1).sin()
    graph.debug_dump(tmp_path / "g.dot")
    text = (tmp_path / "g.dot").read_text()
    assert text.startswith("digraph")
    assert '"aten.sin.default"' in text
    assert "n1 -> n2" in text


def test_no_warning_from_an_ordinary_capture():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph, _, _ = captured()
        graph.replay()
