"""``ostinato bench``: the runtimes beside each other, and the steps of the graph by time."""

from __future__ import annotations

import json
import sys

import pytest
import torch

import ostinato as ost
from ostinato.cli import main
from ostinato.cli._machine import Machine
from ostinato.cli._steps import steps
from ostinato.deployment._load import functional_program
from tests.trials import in_this_process


class Remembers(torch.nn.Module):
    """Has state, an argument that is no tensor, and two results."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(12, 16)
        self.register_buffer("seen", torch.zeros(1, 16))

    def forward(self, x, times: int):
        self.seen.copy_(torch.tanh(self.layer(x) + self.seen * times))
        return self.seen * 2, x.sum(-1)


ARGS = "float32[1,12], 3"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("bench") / "net.pt2"
    with in_this_process():
        ost.deploy(Remembers(), (torch.zeros(1, 12), 3), out=path)
    return str(path)


@pytest.fixture
def bench(file, capsys, monkeypatch):
    """Runs the command on one thread, the machine not measured, and gives the status and what it printed."""
    monkeypatch.setattr("ostinato.cli._machine.measured", lambda threads: Machine(threads, 100.0, 10.0))
    threads = torch.get_num_threads()

    def run(*given):
        try:
            status = main(["bench", file, "--args", ARGS, "--threads", "1", "--rounds", "2", *given])
        finally:
            torch.set_num_threads(threads)
        return status, *capsys.readouterr()

    return run


def test_the_document_has_runtimes_steps_and_the_machine(bench):
    status, out, _ = bench("--against", "eager,jit", "--json")
    assert status == 0
    document = json.loads(out)
    assert [each["runtime"] for each in document["runtimes"]] == ["ostinato fast", "eager", "jit"]
    for each in document["runtimes"]:
        assert 0 < each["min_us"] <= each["p10_us"] <= each["median_us"] <= each["p90_us"]
    assert document["runtimes"][0]["ratio"] == 1
    assert document["machine"] == {"sgemm_gflops": 100.0, "copy_gbs": 10.0}
    made = document["steps"]
    assert [each["us"] for each in made] == sorted((each["us"] for each in made), reverse=True)
    assert sum(each["share"] for each in made) == pytest.approx(1)
    (product,) = (each for each in made if each["flops"])
    assert product["flops"] == 2 * 12 * 16
    assert product["gflops"] == pytest.approx(product["flops"] / product["us"] / 1e3)
    assert product["bytes"] >= 4 * 12 * 16


def test_the_tables_name_what_the_rows_are(bench):
    status, out, err = bench("--steps", "1")
    assert status == 0
    assert "spread" in out
    assert "of limit" in out
    assert " more (--steps)" in out
    assert "timing the steps" in err


def test_a_limit_is_the_slower_of_arithmetic_and_memory(monkeypatch):
    monkeypatch.setattr(Machine, "memory_gbs", lambda self, nbytes: 50.0)
    x, w = torch.ones(4, 8), torch.ones(8, 16)
    graph = ost.accelerator.Graph()
    with graph:
        y = x @ w
    (entry,) = steps([(graph.nodes[0], 1e-6)], Machine(1, 0.5, 10.0))
    assert y.shape == (4, 16)
    assert entry["flops"] == 2 * 4 * 8 * 16
    assert entry["bytes"] == 4 * (4 * 8 + 8 * 16 + 4 * 16)
    assert entry["limit_us"] == pytest.approx(2 * 4 * 8 * 16 / 0.5e9 * 1e6)
    assert entry["of_limit"] == pytest.approx(entry["limit_us"])
    (entry,) = steps([(graph.nodes[0], 1e-6)], Machine(1, 1e6, 10.0))
    assert entry["limit_us"] == pytest.approx(entry["bytes"] / 50e9 * 1e6)


def test_what_other_runtimes_are_given_computes_the_same(file):
    """The state goes in and comes out."""
    model = Remembers()
    x = torch.randn(1, 12, generator=torch.Generator().manual_seed(1))
    module = functional_program(file, "forward", (x, 3))
    state = module.example[1]
    for _ in range(2):
        first, second, state = module(x, state)
        want = model(x, 3)
        torch.testing.assert_close((first, second, state), (*want, model.seen))


def test_compile_is_called_as_for_inference(bench, monkeypatch):
    """The compiler itself takes ten seconds: it is not what is tested."""
    seen = []

    def compiler(module, **options):
        seen.append(options)
        return module

    monkeypatch.setattr(torch, "compile", compiler)
    status, out, _ = bench("--against", "compile", "--json")
    assert status == 0
    assert seen == [{"dynamic": False, "fullgraph": True, "options": {"freezing": True}}]
    assert [each["runtime"] for each in json.loads(out)["runtimes"]] == ["ostinato fast", "compile"]


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_onnx_runtimes_take_the_program(bench, runtime):
    for package in ("onnx", "onnxscript", runtime):
        pytest.importorskip(package)
    status, out, _ = bench("--against", runtime, "--json")
    assert status == 0
    assert [each["runtime"] for each in json.loads(out)["runtimes"]] == ["ostinato fast", runtime]


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino", "onnx=net.onnx", "openvino=net.onnx"])
def test_a_missing_package_is_named(bench, monkeypatch, runtime):
    package = "openvino" if runtime.startswith("openvino") else "onnxruntime"
    monkeypatch.setitem(sys.modules, package, None)
    status, out, err = bench("--against", runtime)
    assert status == 2
    assert out == ""
    assert f"needs the package {package}, which is not installed" in err
    assert err.strip().splitlines()[-1].startswith(f"hint: pip install {package}")


@pytest.mark.parametrize("against", ["magic", "onnx", "torchscript", "compile=net.pt2", "jit=missing.pt"])
def test_wrong_peers(bench, against):
    status, out, err = bench("--against", against)
    assert status == 2
    assert out == ""
    assert err.strip().splitlines()[-1].startswith("hint: ")
