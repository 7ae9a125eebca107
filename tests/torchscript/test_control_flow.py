"""Control flow on the values of tensors is part of the program: each way gives what TorchScript gives."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch import nn

import ostinato as ost
from ostinato._errors import ExportError, UsageError
from ostinato.cli import main
from ostinato.torchscript._traced import load_for_tracing

from . import control_flow_models as models
from .archives import method, write

pytest.importorskip("torch.jit", reason="this torch has no torch.jit")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

STATEFUL = [models.StateInABranch, models.StateInPlaceInABranch, models.StateInALoop]
STATELESS = [
    each
    for _, each in inspect.getmembers(models, inspect.isclass)
    if each.__module__ == models.__name__ and each not in STATEFUL
]


def inputs():
    generator = torch.Generator().manual_seed(1)
    shifts = (0.0, 2.0, -4.0, 0.5, -0.5, 1.0)
    return [torch.randn(2, 3, generator=generator) + shift for shift in shifts]


@pytest.fixture
def archive(tmp_path):
    def made(kind):
        torch.manual_seed(0)
        torch.jit.script(kind().eval()).save(tmp_path / "m.pt")
        return tmp_path / "m.pt"

    return made


def control_flow(program):
    kinds = torch._ops.HigherOrderOperator
    modules = [each for each in program.graph_module.modules() if isinstance(each, torch.fx.GraphModule)]
    return [
        node.target.name() for each in modules for node in each.graph.nodes if isinstance(node.target, kinds)
    ]


@pytest.mark.parametrize("kind", STATELESS, ids=lambda kind: kind.__name__)
def test_every_way_gives_what_torch_jit_gives(archive, kind):
    path = archive(kind)
    with torch.no_grad():
        program = torch.export.export(load_for_tracing(path), (inputs()[0],), strict=False)
        found = control_flow(program)
        asks = kind not in (
            models.Raises,
            models.Asserts,
            models.NumbersOut,
            models.ItemArithmetic,
            models.MinMaxNumbers,
        )
        assert bool(found) == asks
        module, theirs = program.module(), torch.jit.load(path)
        eager = load_for_tracing(path)
        seen = []
        for x in inputs():
            wanted = theirs(x.clone())
            seen.append(wanted)
            torch.testing.assert_close(module(x.clone()), wanted)
            torch.testing.assert_close(eager(x.clone()), wanted, rtol=0, atol=0)


def test_there_are_enough_of_them():
    assert len(STATELESS) + len(STATEFUL) >= 45


@pytest.mark.parametrize("kind", STATEFUL, ids=lambda kind: kind.__name__)
def test_state_that_a_branch_changes(archive, tmp_path, kind):
    path = archive(kind)
    program = ost.torchscript.convert(path, (inputs()[0],), tmp_path / "m.pt2")
    assert control_flow(program)
    module, theirs = ost.export.load(tmp_path / "m.pt2").module(), torch.jit.load(path)
    with torch.no_grad():
        for x in inputs():
            torch.testing.assert_close(module(x), theirs(x))


def test_what_raises_in_a_branch_raises_in_the_program(archive):
    program = ost.torchscript.convert(archive(models.Raises), (torch.ones(2, 3),))
    with pytest.raises(RuntimeError, match="nan"):
        program.module()(torch.full((2, 3), torch.nan))


def test_a_deployed_file_decides_at_replay(archive, tmp_path):
    ost.deploy(archive(models.BranchWithLayers), (inputs()[0],), out=tmp_path / "m.pt2")
    model, theirs = ost.load(tmp_path / "m.pt2"), torch.jit.load(tmp_path / "m.pt")
    with torch.no_grad():
        for x in inputs():
            torch.testing.assert_close(model(x), theirs(x))


# ---- sizes ----


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 4)

    def forward(self, x: torch.Tensor, y: torch.Tensor):
        z = self.layer(x) + y
        return z.reshape(x.size(0) * 2, 2), x.size(0)


def test_sizes_in_which_examples_differ_are_open(archive):
    examples = [(torch.randn(n, 3), torch.randn(n, 4)) for n in (5, 2)]
    module = ost.torchscript.convert(archive(Net), examples).module()
    theirs = torch.jit.load(archive(Net))
    with torch.no_grad():
        for n in (2, 5, 9):
            x, y = torch.randn(n, 3), torch.randn(n, 4)
            torch.testing.assert_close(module(x, y), theirs(x, y))


@pytest.mark.parametrize("dynamic", [{"0": "batch"}, {"x.0": "batch", "1.0": "batch"}])
def test_named_sizes_are_open(archive, dynamic):
    program = ost.torchscript.convert(archive(Net), (torch.randn(5, 3), torch.randn(5, 4)), dynamic=dynamic)
    x, y = torch.randn(7, 3), torch.randn(7, 4)
    with torch.no_grad():
        torch.testing.assert_close(program.module()(x, y), torch.jit.load(archive(Net))(x, y))


@pytest.mark.parametrize("dynamic", [{"5": "batch"}, {"z.0": "batch"}, {"0": "a b"}, {"x": "batch"}])
def test_sizes_that_fit_nothing(archive, dynamic):
    with pytest.raises(UsageError, match="fits no tensor"):
        ost.torchscript.convert(archive(Net), (torch.randn(5, 3), torch.randn(5, 4)), dynamic=dynamic)


def test_the_command_leaves_sizes_open(archive, tmp_path):
    command = ["convert", str(archive(Net)), "-o", str(tmp_path / "n.pt2"), "--dynamic", "0:batch"]
    assert main([*command, "--args", "float32[5,3], float32[5,4]"]) == 0
    assert ost.export.load(tmp_path / "n.pt2").module()(torch.ones(6, 3), torch.ones(6, 4))[1] == 6


class Branching(nn.Module):
    def forward(self, x: torch.Tensor):
        return x + 1 if bool(x.sum() > 0) else x * 2


def test_open_sizes_and_conditions_on_values_do_not_go_together(archive):
    examples = [(torch.ones(n, 3),) for n in (5, 2)]
    told = []
    program = ost.torchscript.convert(archive(Branching), examples, tell=told.append)
    assert any("sizes have to stay fixed" in line for line in told)
    with torch.no_grad():
        torch.testing.assert_close(program.module()(examples[0][0]), examples[0][0] + 1)
    with pytest.raises(ExportError, match="open sizes"):
        ost.torchscript.convert(archive(Branching), examples[0], dynamic={"0": "batch"})


# ---- what cannot be ----

REFUSED = {
    "another dtype": (
        "if bool(torch.gt(torch.sum(x), 0)):\n  y = x\nelse:\n  y = torch.to(x, 4)\nreturn y",
        2,
    ),
    "another shape": ("if bool(torch.gt(torch.sum(x), 0)):\n  y = x\nelse:\n  y = torch.sum(x)\nreturn y", 2),
    "None or a tensor": ("if bool(torch.gt(torch.sum(x), 0)):\n  y = x\nelse:\n  y = None\nreturn y", 2),
    "lists of two lengths": (
        "if bool(torch.gt(torch.sum(x), 0)):\n  y = [x]\nelse:\n  y = [x, x]\nreturn y",
        2,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_program_can_be_names_the_line(tmp_path, name):
    body, line = REFUSED[name]
    code = method(body).split("\n")
    at = code.index("    " + body.split("\n")[0]) + line - 1
    with pytest.raises(ExportError) as error:
        ost.torchscript.convert(write(tmp_path / "a.pt", "\n".join(code)), (torch.ones(2, 3),))
    assert f"code/__torch__.py, line {at}" in error.value.message
    assert error.value.hint
