"""`ost.install()`: names of torch reach Ostinato on the CPU, and come back."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
import torch

import ostinato as ost
from ostinato import _install
from ostinato.accelerator import Graph, _installed

NAMES = sorted(_install._NAMES)


STOCK = {}


@pytest.fixture(autouse=True)
def _stock_again():
    STOCK.update(now())
    yield
    ost.uninstall()
    assert now() == STOCK


def now():
    return {name: getattr(*_install._place(name), None) for name in NAMES}


class Accelerator:
    """In place of torch's class on a machine with an accelerator; takes what that takes."""

    def __init__(self, keep_graph=False, *, pool=None, capture_error_mode="default"):
        self.given = keep_graph, pool, capture_error_mode


@pytest.fixture
def accelerator(monkeypatch):
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    return _installed.graph(Accelerator)


# ---- without an accelerator ---------------------------------------------------
def test_code_for_torch_runs_on_the_cpu():
    ost.install()
    x = torch.zeros(3)
    pool = torch.accelerator.graph_pool_handle()
    graph = torch.accelerator.Graph(pool=pool)
    with torch.Stream(device="cpu"), graph:
        assert torch.accelerator.is_capturing()
        y = x + 1
    assert not torch.accelerator.is_capturing()
    x.fill_(4)
    graph.replay()
    assert y.tolist() == [5, 5, 5]
    assert graph.pool() == pool
    double = torch.accelerator.make_graphed_callables(lambda t: t * 2, (torch.zeros(3),))
    assert double(torch.ones(3)).tolist() == [2, 2, 2]


def test_the_name_is_still_good_for_isinstance_and_as_a_base():
    ost.install()
    assert isinstance(torch.accelerator.Graph(), torch.accelerator.Graph)
    assert not isinstance(3, torch.accelerator.Graph)
    assert issubclass(Graph, torch.accelerator.Graph)

    class Mine(torch.accelerator.Graph):
        pass

    assert issubclass(Mine, Graph)
    assert isinstance(Mine(keep_graph=True), torch.accelerator.Graph)
    assert torch.accelerator.Graph.__name__ == "Graph"


def test_install_and_uninstall_are_idempotent():
    ost.uninstall()
    assert now() == STOCK
    ost.install()
    first = now()
    assert all(first[name] is not STOCK[name] for name in NAMES)
    ost.install()
    assert now() == first
    ost.uninstall()
    assert now() == STOCK
    ost.uninstall()
    assert [hasattr(*_install._place(name)) for name in NAMES] == [v is not None for v in STOCK.values()]


def test_a_name_that_somebody_else_replaced_is_left_to_them(monkeypatch):
    theirs = object()
    ost.install()
    ours = torch.accelerator.Graph
    torch.accelerator.Graph = theirs
    ost.uninstall()
    assert torch.accelerator.Graph is theirs is not ours
    torch.accelerator.Graph = STOCK["torch.accelerator.Graph"]


def test_an_install_that_fails_changes_nothing(monkeypatch):
    monkeypatch.setitem(_install._NAMES, "torch.accelerator.other", "ostinato.accelerator._installed:none")
    with pytest.raises(AttributeError):
        ost.install()
    monkeypatch.undo()
    assert now() == STOCK


def test_what_torch_compile_wraps_comes_back_too():
    ost.install()
    module, name = _install._place("torch.optim.adam._fused_adam")
    setattr(module, name, torch.compiler.disable(getattr(module, name)))
    ost.uninstall()
    assert now() == STOCK


def test_threads():
    """Whatever order they come in, the stock names are kept once and come back."""
    meet = threading.Barrier(8, timeout=30)

    def work(index):
        meet.wait()
        for _ in range(20):
            (ost.install if index % 2 else ost.uninstall)()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_first_install_brings_torch_and_nothing_before_it():
    code = (
        "import ostinato as ost, sys; f = ost.install; assert 'torch' not in sys.modules; "
        "f(); import torch; g = torch.accelerator.Graph(); "
        "print(type(g).__module__, 'ostinato.deployment' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["ostinato.accelerator._graph", "False"]


# ---- with one -----------------------------------------------------------------
def test_the_accelerator_that_is_there_keeps_its_graphs(accelerator):
    graph = accelerator(True, pool=(0, 1), capture_error_mode="relaxed")
    assert type(graph) is Accelerator
    assert graph.given == (True, (0, 1), "relaxed")
    assert isinstance(graph, accelerator)

    class Mine(accelerator):
        pass

    assert issubclass(Mine, Accelerator)


def test_a_device_or_numerics_ask_for_a_graph_of_ours(accelerator):
    on_cpu = accelerator(device="cpu")
    assert type(on_cpu) is Graph
    assert isinstance(on_cpu, accelerator)
    assert accelerator(numerics="fast").numerics == "fast"
    assert accelerator(device="cuda").device == torch.device("cuda")


def test_a_function_that_torch_has_is_called_for_its_device(monkeypatch):
    calls = []
    both = _installed.make_graphed_callables(lambda *args: calls.append(args))
    both(torch.sin, (torch.zeros(2, device="meta"),))
    assert len(calls) == 1
    assert both(torch.sin, (torch.zeros(2),))(torch.zeros(2)).tolist() == [0, 0]
    handle = _installed.graph_pool_handle(lambda: "torch's")
    assert handle() != "torch's"
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    assert handle() == "torch's"
