"""What is refused, and that the device works afterwards."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator

import pytest
import torch

from .._errors import UsageError
from ..accelerator import CaptureError, Graph, ReplayError
from ._backend import Backend


@pytest.fixture(autouse=True)
def _works_afterwards(backend: Backend) -> Iterator[None]:
    yield
    x = backend.arange(3)
    graph, y = backend.capture(lambda: x * 3)
    graph.replay()
    assert y.tolist() == [0, 3, 6]


# ---- calls at the wrong time --------------------------------------------------
@pytest.mark.parametrize("call", ["replay", "instantiate", "stats", "refresh_weights"])
def test_before_a_capture(backend: Backend, call: str) -> None:
    backend.refuses(getattr(backend.graph(), call), ReplayError, "nothing_captured")


def test_an_end_without_a_beginning(backend: Backend) -> None:
    backend.refuses(backend.graph().capture_end, CaptureError, "not_capturing")


def test_a_second_capture_without_reset(backend: Backend) -> None:
    x = backend.arange(3)
    graph, y = backend.capture(lambda: x + 1)
    backend.refuses(graph.capture_begin, CaptureError, "has_graph")
    graph.replay()
    assert y.tolist() == [1, 2, 3]


def test_a_second_end(backend: Backend) -> None:
    x = backend.arange(3)
    graph, _ = backend.capture(lambda: x + 1)
    backend.refuses(graph.capture_end, CaptureError, "not_capturing")


def test_instantiate_where_the_end_has_done_it(backend: Backend) -> None:
    x = backend.arange(3)
    graph, _ = backend.capture(lambda: x + 1)
    backend.refuses(graph.instantiate, ReplayError, "not_kept")


def test_captures_do_not_nest(backend: Backend) -> None:
    x = backend.arange(3)
    graph = backend.graph()
    with graph:
        y = x + 1
        backend.refuses(backend.graph().capture_begin, CaptureError, "nested")
        backend.refuses(graph.capture_begin, CaptureError, "nested")
        y = y * 2
    graph.replay()
    assert y.tolist() == [2, 4, 6]


def test_a_replay_inside_a_capture(backend: Backend) -> None:
    x = backend.arange(3)
    done, _ = backend.capture(lambda: x + 1)
    graph = backend.graph()
    with graph:
        y = x + 1
        with pytest.raises(CaptureError):
            done.replay()
        backend.refuses(graph.replay, ReplayError, "nothing_captured")
    graph.replay()
    assert y.tolist() == [1, 2, 3]


def test_a_dump_that_was_not_announced(backend: Backend, tmp_path: pathlib.Path) -> None:
    x = backend.arange(3)
    graph, _ = backend.capture(lambda: x + 1)
    backend.refuses(lambda: graph.debug_dump(tmp_path / "g"), ReplayError, "debug_off")


# ---- arguments ----------------------------------------------------------------
def test_numerics_of_an_unknown_kind(backend: Backend) -> None:
    backend.refuses(lambda: Graph(device=backend.device, numerics="sloppy"), UsageError, "numerics")


def test_a_mode_of_an_unknown_kind(backend: Backend) -> None:
    backend.refuses(lambda: backend.graph(capture_error_mode="strict"), UsageError, "error_mode")


@pytest.mark.parametrize("pool", [3, (1, 2, 3), "pool"])
def test_a_pool_that_is_none(backend: Backend, pool: object) -> None:
    backend.refuses(lambda: backend.graph(pool=pool), UsageError, "pool")


# ---- what waits for a value ---------------------------------------------------
READS: dict[str, Callable[[torch.Tensor], object]] = {
    "item": lambda x: x.sum().item(),
    "float": lambda x: float(x[0]),
    "int": lambda x: int(x[1]),
    "bool": lambda x: bool(x[0] > 0),
    "tolist": lambda x: x.tolist(),
    "repr": lambda x: repr(x),
    "nonzero": lambda x: x.nonzero(),
    "mask": lambda x: x[x > 1],
    "masked_select": lambda x: x.masked_select(x > 1),
    "unique": lambda x: x.unique(),
    "equal": lambda x: torch.equal(x, x + 1),
}


@pytest.mark.parametrize("name", READS)
def test_a_value_is_not_there_during_a_capture(backend: Backend, name: str) -> None:
    x = backend.arange(4)
    READS[name](x)  # outside it is
    graph = backend.graph()
    with pytest.raises(RuntimeError), graph:  # on some devices the runtime's own error
        READS[name](x * 1)
    assert x.tolist() == [0, 1, 2, 3]
    backend.refuses(graph.replay, ReplayError, "nothing_captured")
    with graph:
        y = x + 1
    graph.replay()
    assert y.tolist() == [1, 2, 3, 4]


# ---- errors of the user's -----------------------------------------------------
@pytest.mark.parametrize("error", [LookupError, KeyboardInterrupt, ZeroDivisionError])
def test_an_exception_goes_on_and_the_graph_stays_empty(backend: Backend, error: type[BaseException]) -> None:
    x = backend.arange(3)
    graph = backend.graph()
    with pytest.raises(error), graph:
        x.add_(1)
        raise error
    assert x.tolist() == [0, 1, 2]
    backend.refuses(graph.replay, ReplayError, "nothing_captured")
    with graph:
        x.add_(1)
    graph.replay()
    assert x.tolist() == [1, 2, 3]


def test_an_operator_that_fails_inside(backend: Backend) -> None:
    """Shapes are checked at capture: the error is torch's own."""
    x = backend.arange(3)
    graph = backend.graph()
    with pytest.raises(RuntimeError), graph:
        x @ torch.empty(4, 2, device=backend.device)
    backend.refuses(graph.replay, ReplayError, "nothing_captured")


def test_an_error_that_was_caught_inside_leaves_the_rest(backend: Backend) -> None:
    x = backend.arange(3)
    graph = backend.graph()
    with graph:
        y = x * 2
        with pytest.raises(ValueError, match="mine"):
            raise ValueError("mine")
        z = y + 1
    x.fill_(1)
    graph.replay()
    assert z.tolist() == [3, 3, 3]
