"""Streams around captures and replays, and the modes in which a capture guards itself."""

from __future__ import annotations

import pytest
import torch

from .._errors import UsageError
from ..accelerator import is_capturing
from ._backend import Backend


def _stream(backend: Backend) -> torch.Stream:
    return torch.Stream(device=backend.device)


def _wait(backend: Backend) -> None:
    if backend.device.type != "cpu":
        torch.get_device_module(backend.device).synchronize()


def _entered(backend: Backend) -> object:
    """Which stream the thread is in; on a CPU all are one."""
    return None if backend.device.type == "cpu" else torch.accelerator.current_stream()


def test_a_stream_entered_first(backend: Backend) -> None:
    x = backend.full(3, 1.0)
    graph = backend.graph()
    with _stream(backend), graph:
        y = x + 1
    x.fill_(4)
    _wait(backend)
    graph.replay()
    assert y.tolist() == [5, 5, 5]


def test_a_stream_around_explicit_calls(backend: Backend) -> None:
    x = backend.full(3, 1.0)
    graph = backend.graph()
    with _stream(backend):
        graph.capture_begin()
        y = x + 1
        graph.capture_end()
    graph.replay()
    assert y.tolist() == [2, 2, 2]


def test_a_replay_in_a_stream(backend: Backend) -> None:
    x = backend.full(3, 1.0)
    graph, y = backend.capture(lambda: x + 1)
    _wait(backend)
    with _stream(backend):
        graph.replay()
    _wait(backend)
    assert y.tolist() == [2, 2, 2]


def test_captured_in_one_stream_and_replayed_in_another(backend: Backend) -> None:
    x = backend.full(3, 1.0)
    graph = backend.graph()
    with _stream(backend), graph:
        y = x * 7
    _wait(backend)
    with _stream(backend):
        graph.replay()
    _wait(backend)
    assert y.tolist() == [7, 7, 7]


def test_the_stream_that_captures_says_so(backend: Backend) -> None:
    x = backend.full(3, 1.0)
    stream = _stream(backend)
    assert not is_capturing(stream)
    with stream, backend.graph():
        x + 1
        assert is_capturing(stream)
        assert is_capturing()
    assert not is_capturing(stream)


def test_a_capture_leaves_the_stream_that_was_entered(backend: Backend) -> None:
    x = backend.full(3, 1.0)
    before = _entered(backend)
    with backend.graph():
        x + 1
    assert _entered(backend) == before
    with _stream(backend):
        inside = _entered(backend)
        with backend.graph():
            x + 1
        assert _entered(backend) == inside
    assert _entered(backend) == before


def test_a_failed_capture_leaves_the_stream_that_was_entered(backend: Backend) -> None:
    x = backend.full(3, 1.0)
    before = _entered(backend)
    with pytest.raises(LookupError), _stream(backend), backend.graph():
        x + 1
        raise LookupError
    assert _entered(backend) == before


def test_replays_run_in_the_order_of_their_calls(backend: Backend) -> None:
    x = backend.full(1000, 1.0)
    double, _ = backend.capture(lambda: x.mul_(2))
    more, _ = backend.capture(lambda: x.add_(1))
    for _ in range(5):
        double.replay()
        more.replay()
    assert x[0].item() == 63
    assert bool((x == 63).all())


def test_eager_work_and_replays_take_turns(backend: Backend) -> None:
    x = backend.full(1000, 1.0)
    graph, y = backend.capture(lambda: x * 2)
    for _ in range(5):
        graph.replay()
        x.copy_(y)
    assert x[0].item() == 32


def test_two_captures_in_two_streams_one_after_the_other(backend: Backend) -> None:
    x = backend.full(3, 1.0)
    made = []
    for factor in (2, 3):
        graph = backend.graph()
        with _stream(backend), graph:
            made.append((graph, x * factor, factor))
    for graph, y, factor in made:
        graph.replay()
        assert y.tolist() == [factor] * 3


def test_one_stream_captures_twice(backend: Backend) -> None:
    x, stream = backend.full(3, 1.0), _stream(backend)
    graph = backend.graph()
    for factor in (2, 3):
        with stream, graph:
            y = x * factor
        graph.replay()
        assert y.tolist() == [factor] * 3
        graph.reset()


@pytest.mark.parametrize("mode", ["default", "global", "thread_local", "relaxed"])
def test_capture_error_modes(backend: Backend, mode: str) -> None:
    """Each captures; a device that knows fewer modes refuses the others by name."""
    x = backend.full(3, 1.0)
    graph = backend.graph(capture_error_mode=mode)
    try:
        graph.capture_begin()
    except UsageError:
        if mode == "default":
            raise
        pytest.skip(f"lacking: capture_error_mode={mode}")
    y = x + 1
    graph.capture_end()
    graph.replay()
    assert y.tolist() == [2, 2, 2]


def test_no_mode_gives_a_value_away(backend: Backend) -> None:
    """Also "relaxed" refuses what conflicts with the capture itself."""
    x = backend.full(3, 1.0)
    for mode in ("default", "relaxed"):
        with pytest.raises(RuntimeError), backend.graph(capture_error_mode=mode):
            (x + 1).sum().item()
