"""The examples of control flow, beside the same in plain Python."""

from __future__ import annotations

import pathlib
import runpy

import pytest
import torch

from ostinato.accelerator import Graph

from .control_flow import PYTHON

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def load(name):
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


@pytest.mark.parametrize("name", ["newton", "skip_nonfinite", "greedy_decoding"])
def test_it_runs(name, capsys):
    load(name)["main"]()
    assert capsys.readouterr().out


def test_newton(monkeypatch):
    cube_root = load("newton")["cube_root"]
    a = torch.ones(50)
    with torch.no_grad(), Graph() as graph:
        x, rounds = cube_root(a)
    monkeypatch.setattr(torch, "while_loop", PYTHON.while_loop)
    for scale in (1.0, 1e6):
        a.uniform_(0.5, 1.0).mul_(scale)
        graph.replay()
        assert (x.double() / a.double() ** (1 / 3) - 1).abs().max() < 1e-4
        assert rounds == cube_root(a)[1]


def test_greedy_decoding_stops_early(monkeypatch):
    example = load("greedy_decoding")
    torch.manual_seed(0)
    model = example["Decoder"]().eval()
    state, stopped = torch.randn(2, 32), set()
    with torch.no_grad():
        model.head.bias[example["END"]] += 0.3
        with Graph() as graph:
            tokens, rounds = example["decode"](model, state)
        monkeypatch.setattr(torch, "while_loop", PYTHON.while_loop)
        for _ in range(20):
            state.normal_()
            graph.replay()
            want, number = example["decode"](model, state)
            assert torch.equal(tokens, want)
            assert rounds == number
            stopped.add(int(number))
    assert len(stopped) > 1  # some of them ended before the others


def test_steps_with_infinite_gradients_are_left_out():
    step = load("skip_nonfinite")["Step"]()
    parameters = list(step.model.parameters())
    for number in range(6):
        before = [p.detach().clone() for p in parameters]
        x = torch.randn(64, 8)
        if number % 2:
            x[0, 0] = float("inf")
        step(x, torch.randn(64, 1))
        same = all(torch.equal(p, b) for p, b in zip(parameters, before, strict=True))
        assert same == bool(number % 2)
    assert step.skipped == 3
