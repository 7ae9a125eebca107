"""Begin, end, instantiate, replay, reset: what each leaves behind."""

from __future__ import annotations

import gc
import pathlib
import warnings
import weakref

import pytest
import torch

from ..accelerator import ReplayError, is_capturing
from ._backend import Backend


def test_a_with_statement_records_and_replay_runs(backend: Backend) -> None:
    x = backend.arange(4)
    graph, y = backend.capture(lambda: x * 2 + 1)
    x.fill_(5)
    graph.replay()
    assert y.tolist() == [11, 11, 11, 11]


def test_explicit_calls_do_the_same(backend: Backend) -> None:
    x = backend.arange(4)
    graph = backend.graph()
    graph.capture_begin()
    y = x * 2 + 1
    graph.capture_end()
    x.fill_(5)
    graph.replay()
    assert y.tolist() == [11, 11, 11, 11]


def test_a_capture_changes_no_tensor(backend: Backend) -> None:
    x, y = backend.arange(4), backend.full(4, 7.0)
    backend.capture(lambda: (x.add_(1), y[1:].copy_(x[1:]), x.zero_()))
    assert x.tolist() == [0, 1, 2, 3]
    assert y.tolist() == [7, 7, 7, 7]


def test_inputs_are_used_by_address(backend: Backend) -> None:
    x = backend.full(3, 0.0)
    graph, y = backend.capture(lambda: x + 1)
    x.copy_(backend.arange(3))
    graph.replay()
    assert y.tolist() == [1, 2, 3]
    x.view(3, 1)[1:].add_(10)
    graph.replay()
    assert y.tolist() == [1, 12, 13]


def test_a_new_tensor_of_the_same_name_feeds_nothing(backend: Backend) -> None:
    x = first = backend.full(3, 1.0)
    graph, y = backend.capture(lambda: x + 1)
    x = backend.full(3, 100.0)
    graph.replay()
    assert y.tolist() == [2, 2, 2]
    assert first.tolist() == [1, 1, 1]


def test_outputs_keep_their_addresses(backend: Backend) -> None:
    x = backend.arange(4)
    graph, y = backend.capture(lambda: x.exp())
    address = y.data_ptr()
    for _ in range(3):
        graph.replay()
        assert y.data_ptr() == address


def test_the_next_replay_overwrites_outputs(backend: Backend) -> None:
    x = backend.full(2, 1.0)
    graph, y = backend.capture(lambda: x * 2)
    graph.replay()
    kept, copy = y, y.clone()
    x.fill_(5)
    graph.replay()
    assert kept.tolist() == [10, 10]
    assert copy.tolist() == [2, 2]


def test_a_hundred_replays(backend: Backend) -> None:
    x = backend.full(3, 0.0)
    graph, _ = backend.capture(lambda: x.add_(1))
    for _ in range(100):
        graph.replay()
    assert x.tolist() == [100, 100, 100]


def test_a_replay_feeds_itself_and_another_graph(backend: Backend) -> None:
    x = backend.full(2, 1.0)
    first, y = backend.capture(lambda: x * 2)
    second, _ = backend.capture(lambda: x.copy_(y + 1))
    for _ in range(4):
        first.replay()
        second.replay()
    assert x.tolist() == [31, 31]


def test_an_output_may_be_an_input(backend: Backend) -> None:
    x = backend.arange(4)
    graph, (same, view) = backend.capture(lambda: (x, x.mul_(2).view(2, 2).t()))
    assert same is x
    graph.replay()
    assert view.tolist() == [[0, 4], [2, 6]]


# ---- instantiate --------------------------------------------------------------
def test_a_kept_graph_is_instantiated_by_the_first_replay(backend: Backend) -> None:
    x = backend.arange(3)
    graph, y = backend.capture(lambda: x + 1, keep_graph=True)
    x.fill_(4)
    graph.replay()
    assert y.tolist() == [5, 5, 5]


def test_a_kept_graph_can_be_instantiated_ahead_and_again(backend: Backend) -> None:
    x = backend.arange(3)
    graph, y = backend.capture(lambda: x + 1, keep_graph=True)
    graph.instantiate()
    graph.instantiate()
    x.fill_(4)
    graph.replay()
    assert y.tolist() == [5, 5, 5]


# ---- reset --------------------------------------------------------------------
def test_reset_lets_the_graph_capture_again(backend: Backend) -> None:
    x = backend.arange(3)
    graph, y = backend.capture(lambda: x + 1)
    graph.replay()
    graph.reset()
    backend.refuses(graph.replay, ReplayError, "nothing_captured")
    with graph:
        z = x - 1
    x.fill_(7)
    graph.replay()
    assert z.tolist() == [6, 6, 6]
    assert y.tolist() == [1, 2, 3]


def test_reset_ends_a_capture_that_is_under_way(backend: Backend) -> None:
    x = backend.arange(3)
    graph = backend.graph()
    graph.capture_begin()
    x.add_(1)
    graph.reset()
    assert not is_capturing()
    assert x.tolist() == [0, 1, 2]


def test_reset_may_come_at_any_time(backend: Backend) -> None:
    x = backend.arange(3)
    backend.graph().reset()
    graph, _ = backend.capture(lambda: x + 1, keep_graph=True)
    graph.reset()
    graph.reset()


# ---- states -------------------------------------------------------------------
def test_is_capturing_says_so_inside_only(backend: Backend) -> None:
    x = backend.arange(3)
    assert not is_capturing()
    with backend.graph():
        x + 1
        assert is_capturing()
    assert not is_capturing()


def test_an_empty_capture_replays_as_nothing(backend: Backend) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph, _ = backend.capture(lambda: None)
    graph.replay()


@pytest.mark.parametrize("mode", [torch.no_grad, torch.enable_grad, torch.inference_mode])
def test_grad_modes_inside_and_around(backend: Backend, mode: type[torch.no_grad]) -> None:
    x = backend.normal(4)
    with mode():
        graph, outside = backend.capture(lambda: x.sin() * 2)
    graph_inside = backend.graph()
    with graph_inside, mode():
        inside = x.sin() * 2
    x.fill_(0.5)
    graph.replay()
    graph_inside.replay()
    backend.same([outside, inside], [x.sin() * 2] * 2)


def test_python_runs_once(backend: Backend) -> None:
    x, calls = backend.arange(3), []

    def program() -> torch.Tensor:
        calls.append(1)
        return x + len(calls)

    graph, y = backend.capture(program)
    for _ in range(3):
        graph.replay()
    assert len(calls) == 1
    assert y.tolist() == [1, 2, 3]


def test_a_dropped_graph_is_freed(backend: Backend) -> None:
    x = backend.arange(3)
    graph, _ = backend.capture(lambda: x + 1)
    graph.replay()
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None


# ---- looking at it ------------------------------------------------------------
@pytest.mark.needs("nodes")
def test_nodes_name_operators_in_order(backend: Backend) -> None:
    x = backend.arange(3)
    graph, _ = backend.capture(lambda: (x.sin() + 1).cos())
    operators = [op for node in graph.nodes for op in node.sources or (node.op,)]
    assert [op.split(".")[1] for op in operators] == ["sin", "add", "cos"]
    assert "aten.sin.default" in str(graph)


def test_debug_dump_writes_a_file(backend: Backend, tmp_path: pathlib.Path) -> None:
    x = backend.arange(3)
    graph = backend.graph()
    graph.enable_debug_mode()
    with graph:
        (x + 1).sin()
    graph.debug_dump(tmp_path / "graph.dot")
    assert "digraph" in (tmp_path / "graph.dot").read_text()
