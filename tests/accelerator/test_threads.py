"""One capture a thread: who may call what on a graph of whom, and what runs beside a capture."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
import torch

import ostinato as ost
from ostinato.accelerator import CaptureError, Graph, ReplayError

from .support import in_thread, refuses


def test_is_capturing_only_in_the_capturing_thread():
    assert not ost.accelerator.is_capturing()
    elsewhere = []
    with Graph():
        torch.ones(1)
        assert ost.accelerator.is_capturing()
        assert ost.accelerator.is_capturing(torch.Stream(device="cpu"))
        in_thread(lambda: elsewhere.append(ost.accelerator.is_capturing()))
    assert elsewhere == [False]
    assert not ost.accelerator.is_capturing()


def test_another_thread_cannot_touch_a_capture():
    graph = Graph()
    errors = {}
    with graph:
        y = torch.ones(2) + 1
        for call in ("capture_begin", "capture_end", "reset"):
            errors[call] = in_thread(getattr(graph, call))
        errors["replay"] = in_thread(graph.replay)
    codes = {call: error.code.removeprefix("accelerator.") for call, error in errors.items()}
    assert codes == {
        "capture_begin": "busy",
        "capture_end": "busy",
        "reset": "busy",
        "replay": "nothing_captured",
    }
    graph.replay()
    assert y.tolist() == [2, 2]


def test_two_threads_capture_and_replay_at_once():
    """Each records its own operators only; a stance on compiling that both set is given back once."""
    import torch._dynamo

    meet = threading.Barrier(2, timeout=20)
    results = {}

    def work(name, factor):
        x = torch.full((3,), 1.0)
        graph = Graph()
        meet.wait()
        with graph:
            y = x * factor
            meet.wait()  # both are in their captures here
            y = y + factor
            if name == "slow":
                meet.wait()
        if name == "fast":
            meet.wait()  # the one that began first or second ends first
        x.fill_(2)
        for _ in range(50):
            graph.replay()
        results[name] = (y.tolist(), [n.op for n in graph.nodes])

    threads = [threading.Thread(target=work, args=a) for a in (("fast", 3.0), ("slow", 5.0))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ops = ["aten.mul.Tensor", "aten.add.Tensor"]
    assert results == {"fast": ([9, 9, 9], ops), "slow": ([15, 15, 15], ops)}
    assert torch._dynamo.eval_frame._stance.stance == "default"


@pytest.mark.parametrize("mode", ["default", "global", "thread_local", "relaxed"])
def test_the_error_modes_all_mean_the_calling_thread(mode):
    """Another thread may do what conflicts with a capture; this one may not, under "relaxed" either."""
    x, seen = torch.arange(4.0), []

    def elsewhere():
        seen.append(x.sum().item())
        seen.append(x[x > 1].tolist())
        seen.append(tuple(torch.randn(5).shape))

    graph = Graph(capture_error_mode=mode)
    with graph:
        y = x + 1
        assert in_thread(elsewhere) is None
        refuses(lambda: x.sum().item(), CaptureError, "synchronises")
        refuses(lambda: x[x > 1], CaptureError, "data_dependent_shape")
    assert seen == [6, [2, 3], (5,)]
    assert "generator.set" not in [n.op for n in graph.nodes]
    graph.replay()
    assert y.tolist() == [1, 2, 3, 4]


def test_what_another_thread_draws_is_no_jump_of_the_capture():
    """All threads draw from one generator: a replay draws what eager draws then, and sets nothing back."""
    x, stop = torch.ones(50), threading.Event()

    def draw():
        while not stop.is_set():
            torch.randn(7), torch.rand(1)

    thread = threading.Thread(target=draw)
    graph = Graph()
    thread.start()
    try:
        with graph:
            for _ in range(50):
                y = torch.nn.functional.dropout(x.sin(), 0.5)
            stop.set()
            thread.join()
            state = torch.get_rng_state()
            z = torch.randn(3)
            torch.set_rng_state(state)  # which is the thread's own
            z = z - torch.randn(3)
    finally:
        stop.set()
        thread.join()
    assert not [n for n in graph.nodes if n.op == "generator.set"]
    masks = set()
    for _ in range(4):
        graph.replay()
        masks.add(tuple(y.tolist()))
    assert len(masks) == 4
    torch.manual_seed(5)
    graph.replay()
    got = y.clone()
    torch.manual_seed(5)
    for _ in range(50):
        want = torch.nn.functional.dropout(x.sin(), 0.5)
    assert torch.equal(got, want)
    assert z.tolist() == [0, 0, 0]


def test_another_thread_runs_eagerly_beside_a_capture():
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.grad = torch.ones(2)
    optimizer = torch.optim.SGD([parameter], lr=1.0, momentum=0.9)
    graph = Graph()
    with graph:
        torch.ones(2) + 1
        error = in_thread(optimizer.step)  # makes its momentum, which is no business of this capture
    assert error is None
    assert parameter.tolist() == [0, 0]
    assert len(graph.nodes) == 2


def test_replay_in_two_threads_is_refused_or_in_turn():
    """One set of buffers: a second thread is told so; nobody gets a wrong result."""
    x = torch.randn(200, 200)
    graph = Graph()
    with graph:
        y = x @ x
    want = x @ x
    errors = []

    def work():
        for _ in range(30):
            try:
                graph.replay()
            except ReplayError as error:
                errors.append(error.code)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(errors) <= {"accelerator.replayed_elsewhere"}
    assert torch.equal(y, want)


def test_threads_that_replay_their_own_graphs_of_one_module():
    """For a minute: `make fuzz`."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.accelerator.concurrency", "3"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_second_thread_is_refused_while_the_first_is_inside_a_replay():
    """Refused with the error that says so, whether the plan is all native or not, and right afterwards."""
    x = torch.randn(1 << 20)
    for numerics in ("exact", "fast"):
        graph = Graph(numerics=numerics)
        with graph:
            y = x.sort().values.cumsum(0)
        first = threading.Thread(target=graph.replay)
        errors = []
        first.start()
        while first.is_alive():
            try:
                graph.replay()
            except ReplayError as error:
                errors.append(error.code)
        first.join()
        assert set(errors) == {"accelerator.replayed_elsewhere"}
        graph.replay()
        assert torch.equal(y, x.sort().values.cumsum(0))


FORKED = """
import os, sys, threading, torch, ostinato as ost
torch.set_num_threads(2)
linear = torch.nn.Linear(300, 300)
x, wide = torch.randn(300, 300), torch.randn(400_000)
graph = ost.accelerator.Graph(numerics=sys.argv[1])
with torch.no_grad(), graph:
    out = linear(x).softmax(-1), wide.sin() * wide + 1, wide.view(400, 1000).sum(1)
graph.replay()  # torch's threads exist from here on
want = [t.clone() for t in out]

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        for t in out:
            t.zero_()
        graph.replay()
        return all(torch.allclose(t, w, rtol=1e-4, atol=1e-5) for t, w in zip(out, want))

if sys.argv[2] == "fork":
    child = os.fork()
    if child == 0:
        right = Data()[0]  # on one thread: the others did not come with the process
        again = ost.accelerator.Graph(numerics=sys.argv[1])
        with torch.no_grad(), again:
            linear(x)
        again.replay()
        thread = threading.Thread(target=lambda: x @ x)
        thread.start()
        thread.join()
        os._exit(0 if right and torch.get_num_threads() == 1 else 3)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
loader = torch.utils.data.DataLoader(Data(), num_workers=2, multiprocessing_context="fork")
sys.exit(0 if all(bool(item) for item in loader) else 3)
"""


@pytest.mark.parametrize("numerics", ["exact", "fast"])
@pytest.mark.parametrize("how", ["fork", "loader"])
def test_a_forked_child_replays_and_does_not_hang(numerics, how):
    done = subprocess.run(
        [sys.executable, "-c", FORKED, numerics, how], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr
