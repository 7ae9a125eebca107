"""A capture belongs to its thread (or to the stream of it); others work beside it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

from ..accelerator import CaptureError, Graph, ReplayError, is_capturing
from ._backend import Backend


def _in_thread(work: Callable[[], Any]) -> Any:
    """What ``work()`` gives in another thread; raises what it raises."""
    (result,) = _in_threads([work])
    return result


def _in_threads(works: list[Callable[[], Any]]) -> list[Any]:
    results: list[Any] = [None] * len(works)
    errors: list[BaseException] = []

    def run(index: int, work: Callable[[], Any]) -> None:
        try:
            results[index] = work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=item) for item in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def _guarded(backend: Backend) -> Graph:
    """A graph whose capture minds its own thread only, where the device has the mode."""
    return backend.graph(capture_error_mode="default" if backend.device.type == "xpu" else "thread_local")


def test_eager_work_of_another_thread_is_not_recorded(backend: Backend) -> None:
    x, other = backend.full(3, 1.0), backend.full(3, 0.0)
    graph = _guarded(backend)
    with graph:
        y = x + 1
        _in_thread(lambda: other.add_(5))
        y = y * 2
    assert other.tolist() == [5, 5, 5]
    graph.replay()
    assert other.tolist() == [5, 5, 5]
    assert y.tolist() == [4, 4, 4]


def test_another_thread_may_read_values_during_a_capture(backend: Backend) -> None:
    x, other = backend.full(3, 1.0), backend.arange(3)
    graph = _guarded(backend)
    with graph:
        y = x + 1
        read = _in_thread(lambda: other.sum().item())
    assert read == 3
    graph.replay()
    assert y.tolist() == [2, 2, 2]


def test_another_thread_trains_during_a_capture(backend: Backend) -> None:
    x = backend.full(3, 1.0)
    weight = torch.nn.Parameter(backend.full(3, 1.0))
    optimizer = torch.optim.SGD([weight], lr=0.5, momentum=0.9)

    def step() -> None:
        (weight * 2).sum().backward()
        optimizer.step()

    graph = _guarded(backend)
    with graph:
        y = x + 1
        _in_thread(step)
    assert weight.tolist() == [0, 0, 0]
    graph.replay()
    assert weight.tolist() == [0, 0, 0]
    assert y.tolist() == [2, 2, 2]


def test_is_capturing_is_asked_by_each_thread_for_itself(backend: Backend) -> None:
    x = backend.full(3, 1.0)
    with _guarded(backend):
        x + 1
        assert is_capturing()
        assert _in_thread(is_capturing) is False


@pytest.mark.parametrize("call", ["capture_begin", "capture_end", "reset"])
def test_another_thread_cannot_touch_a_capture(backend: Backend, call: str) -> None:
    x = backend.full(3, 1.0)
    graph = _guarded(backend)
    with graph:
        y = x + 1
        backend.refuses(lambda: _in_thread(getattr(graph, call)), CaptureError, "busy")
    graph.replay()
    assert y.tolist() == [2, 2, 2]


def test_a_capture_in_a_thread_that_is_not_the_main_one(backend: Backend) -> None:
    x = backend.full(3, 1.0)
    graph, y = _in_thread(lambda: backend.capture(lambda: x * 4))
    x.fill_(2)
    graph.replay()
    assert y.tolist() == [8, 8, 8]


def test_made_captured_and_replayed_in_three_threads(backend: Backend) -> None:
    x = backend.full(3, 1.0)
    graph = _in_thread(backend.graph)

    def capture() -> torch.Tensor:
        with graph:
            return x + 6

    y = _in_thread(capture)
    _in_thread(graph.replay)
    assert y.tolist() == [7, 7, 7]


def test_a_backward_pass_is_captured_whole(backend: Backend) -> None:
    """On many devices autograd runs it in threads of its own."""
    weight = torch.nn.Parameter(backend.full(3, 2.0))
    weight.grad = backend.full(3, 0.0)
    x = backend.full(3, 1.0)
    (weight * x).square().sum().backward()
    weight.grad.zero_()
    graph, _ = backend.capture(lambda: (weight * x).square().sum().backward())
    assert weight.grad.tolist() == [0, 0, 0]
    for _ in range(2):
        graph.replay()
    assert weight.grad.tolist() == [8, 8, 8]


@pytest.mark.needs("parallel_capture")
def test_two_threads_capture_at_the_same_time(backend: Backend) -> None:
    meet = threading.Barrier(2, timeout=60)

    def work(factor: float) -> list[float]:
        x = backend.full(3, 1.0)
        graph = backend.graph()
        meet.wait()
        with graph:
            y = x * factor
            meet.wait()  # both are in their captures here
            y = y + factor
        meet.wait()
        x.fill_(2)
        graph.replay()
        return y.tolist()  # type: ignore[no-any-return]

    assert _in_threads([lambda: work(3), lambda: work(5)]) == [[9, 9, 9], [15, 15, 15]]


@pytest.mark.parametrize("count", [2, 4])
def test_every_thread_replays_a_graph_of_its_own(backend: Backend, count: int) -> None:
    layer = backend.module(torch.nn.Linear(8, 8), torch.nn.Tanh())

    def made(seed: int) -> Callable[[], None]:
        x = backend.normal(4, 8, seed=seed)
        graph, y = backend.capture(lambda: layer(x))
        want = layer(x).detach()

        def work() -> None:
            for _ in range(20):
                graph.replay()
            backend.same(y, want)

        return work

    with torch.no_grad():
        works = [made(seed) for seed in range(count)]
        _in_threads(works)


def test_one_graph_in_two_threads_is_refused_or_takes_turns(backend: Backend) -> None:
    x = backend.normal(64, 64)
    graph, y = backend.capture(lambda: x @ x)

    def work() -> None:
        for _ in range(20):
            with contextlib.suppress(ReplayError):
                graph.replay()

    _in_threads([work, work])
    graph.replay()
    backend.same(y, x @ x)


def test_a_thread_that_fails_in_its_capture_leaves_the_others(backend: Backend) -> None:
    x = backend.full(3, 1.0)

    def fail() -> None:
        with backend.graph():
            x + 1
            raise LookupError

    with pytest.raises(LookupError):
        _in_thread(fail)
    graph, y = backend.capture(lambda: x + 2)
    graph.replay()
    assert y.tolist() == [3, 3, 3]
