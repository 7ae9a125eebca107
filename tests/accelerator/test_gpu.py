"""On a machine with an accelerator of torch's: the suite, and what only a real device can show."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import ostinato as ost
from ostinato.accelerator import Graph, _registry

KIND = next((kind for kind in ("cuda", "xpu") if getattr(torch, kind).is_available()), None)
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(KIND is None, reason="needs a GPU")]


@pytest.mark.parametrize("numerics", ["exact", "fast"])
def test_the_conformance_suite(numerics):
    command = [sys.executable, "-m", "ostinato.testing", "-q", "--device", KIND, "--numerics", numerics]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:]


def test_an_entered_stream_names_the_device():
    x = torch.ones(3, device=KIND)
    with torch.Stream(device=KIND), Graph() as graph:
        assert ost.accelerator.is_capturing()
        y = x + 1
    assert type(graph._impl) is _registry.implementation(KIND)
    x.fill_(4)
    graph.replay()
    assert y.tolist() == [5, 5, 5]


def test_a_graph_of_ours_and_one_of_torch_share_a_pool():
    module = getattr(torch, KIND)
    x = torch.ones(1000, device=KIND)
    pool = ost.accelerator.Graph(device=KIND).pool()
    ours = Graph(device=KIND, pool=pool)
    with ours:
        y = (x + 1) * 2
    theirs = module.CUDAGraph() if KIND == "cuda" else module.XPUGraph()
    with module.graph(theirs, pool=pool):
        z = (x + 2) * 3
    ours.replay()
    theirs.replay()
    assert (y[0].item(), z[0].item()) == (4, 9)


def test_a_refused_capture_leaves_the_device_usable():
    x = torch.ones(3, device=KIND)
    before = torch.accelerator.current_stream()
    for _ in range(2):
        with pytest.raises(RuntimeError), Graph(device=KIND):
            (x + 1).sum().item()
        assert torch.accelerator.current_stream() == before
    assert (x + 1).sum().item() == 6


@pytest.mark.skipif(KIND != "cuda", reason="needs CUDA")
def test_a_condition_is_decided_at_replay():
    if "cond" not in _registry.implementation("cuda").supports:
        pytest.skip("this torch has no conditional nodes")
    x = torch.ones(3, device="cuda")
    graph = Graph(device="cuda")
    with torch.no_grad(), graph:
        y = torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t - 1, (x,))
    for number, want in ((3.0, 6.0), (-3.0, -4.0)):
        x.fill_(number)
        graph.replay()
        assert y.tolist() == [want] * 3
