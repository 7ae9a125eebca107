"""Kernels in programs: away in a portable file, back at `load`, and only where the pattern is whole."""

import subprocess
import sys
import zipfile

import pytest
import torch
from torch import nn

import ostinato as ost
from ostinato.export import load, save

from .mx_models import MODELS, quantized

LINEAR, DEQUANTIZE = "ostinato::mx_linear", "ostinato::mx_dequantize"


def operators(program):
    return [node.target.name() for node in program.graph.nodes if node.op == "call_function"]


def document(path):
    with zipfile.ZipFile(path) as file:
        return file.read("archive/models/model.json")


def written(module, args, path, **how):
    program = torch.export.export(module, args, **how)
    save(program, path)
    return path


class Product(nn.Module):
    """A weight in the ways that programs multiply by one."""

    def __init__(self, way):
        super().__init__()
        self.way = way
        self.weight = nn.Parameter(torch.randn(24, 40))
        self.bias = nn.Parameter(torch.randn(24))

    def forward(self, x):
        return {
            "linear": lambda: nn.functional.linear(x, self.weight, self.bias),
            "matmul": lambda: x @ self.weight.t(),
            "mm": lambda: torch.mm(x, self.weight.transpose(0, 1)),
            "permute": lambda: torch.mm(x, self.weight.permute(1, 0)),
            "addmm": lambda: torch.addmm(self.bias, x, self.weight.t()),
            "factors": lambda: torch.addmm(self.bias, x, self.weight.t(), beta=2),
            "one bias": lambda: torch.addmm(self.bias[:1], x, self.weight.t()),
            "other side": lambda: self.weight @ x.t(),
            "squared": lambda: nn.functional.linear(self.weight, self.weight),
            "two users": lambda: (nn.functional.linear(x, self.weight), self.weight * 2),
        }[self.way]()


def product(way):
    torch.manual_seed(0)
    module = Product(way)
    weight = ost.mx.quantize(module.weight, ost.mx.mxfp6_e3m2)
    module.weight = nn.Parameter(weight, requires_grad=False)
    return module, (torch.randn(3, 40),)


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        *((way, {LINEAR}) for way in ("linear", "matmul", "mm", "permute", "addmm")),
        *((way, {DEQUANTIZE}) for way in ("factors", "one bias", "other side", "squared")),
        ("two users", {LINEAR, DEQUANTIZE}),
    ],
)
def test_products_and_other_users_get_their_kernels(way, expected, tmp_path):
    module, args = product(way)
    program = load(written(module, args, tmp_path / "m.pt2"))
    program._validate()
    found = operators(program)
    assert {name for name in found if name.startswith("ostinato")} == expected
    assert "aten::embedding" not in found
    assert not program.constants  # no table is left behind
    with torch.no_grad():
        assert_close(program.module()(*args), module(*args))


def assert_close(got, expected):
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("decompositions", [{}, None])
def test_what_torch_makes_of_a_program_keeps_its_kernels(decompositions, tmp_path):
    module, args = product("addmm")
    program = torch.export.export(module, args).run_decompositions(decompositions)
    save(program, tmp_path / "m.pt2")
    again = load(written(module, args, tmp_path / "n.pt2")).run_decompositions(decompositions)
    assert operators(again) == [LINEAR]
    with torch.no_grad():
        for each in (load(tmp_path / "m.pt2"), again):
            assert_close(each.module()(*args), module(*args))


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_program_is_written_as_it_was(name, tmp_path):
    module, args = quantized(name, "mxfp6_e2m3")
    first = document(written(module, args, tmp_path / "a.pt2"))
    program = load(tmp_path / "a.pt2")
    before = operators(program)
    assert any(each.startswith("ostinato") for each in before)
    save(program, tmp_path / "b.pt2")
    assert document(tmp_path / "b.pt2") == first
    assert operators(program) == before  # saving changes nothing
    save(program, tmp_path / "c.pt2", portable=False)
    assert operators(load(tmp_path / "c.pt2")) == before
    save(torch.export.export(module, args), tmp_path / "d.pt2", portable=False)
    assert operators(load(tmp_path / "d.pt2")) == before


def test_operators_in_a_file_are_there_in_a_new_process(tmp_path):
    module, args = quantized("linear", "mxfp4")
    save(torch.export.export(module, args), tmp_path / "m.pt2", portable=False)
    with torch.no_grad():
        torch.save((args, module(*args)), tmp_path / "m.pt")
    code = (
        "import sys, torch, ostinato as ost\n"
        "args, expected = torch.load(sys.argv[2])\n"
        "got = ost.export.load(sys.argv[1]).module()(*args)\n"
        "torch.testing.assert_close(got, expected)\n"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "m.pt2", tmp_path / "m.pt"], check=True)


def test_a_file_without_such_weights_needs_none_of_the_feature(tmp_path):
    written(nn.Linear(3, 2), (torch.ones(1, 3),), tmp_path / "m.pt2")
    code = (
        "import sys, ostinato as ost; ost.export.load(sys.argv[1]); assert 'ostinato.mx' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "m.pt2"], check=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_kernels_give_what_operators_of_torch_give(dtype, tmp_path):
    """The numbers of a weight bit for bit; products as two orders of summation allow."""
    torch.manual_seed(0)
    module = nn.ModuleDict({"table": nn.Embedding(9, 50), "out": nn.Linear(50, 40)}).to(dtype)
    module.forward = lambda i: (module["table"](i), module["out"](module["table"](i)))
    ost.mx.quantize_(module, ost.mx.mxfp8_e4m3)
    i = torch.tensor([[0, 8], [3, 3]])
    written(module, (i,), tmp_path / "m.pt2")
    with torch.no_grad():
        rows, made = load(tmp_path / "m.pt2").module()(i)
        stock_rows, stock_made = torch.export.load(tmp_path / "m.pt2").module()(i)
    assert torch.equal(rows, stock_rows)
    torch.testing.assert_close(made, stock_made)
    wide = rows.double() @ module["out"].weight.dequantize(torch.float64).t() + module["out"].bias.double()
    torch.testing.assert_close(made.double(), wide, rtol=2 * torch.finfo(dtype).eps, atol=1e-5)


def test_dimensions_that_vary(tmp_path):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.out = nn.Embedding(30, 48), nn.Linear(48, 5)

        def forward(self, i):
            return self.out(self.table(i))

    torch.manual_seed(0)
    module = ost.mx.quantize_(Both(), ost.mx.mxfp4)
    shapes = ({0: torch.export.Dim("batch", max=64), 1: torch.export.Dim("length", max=64)},)
    written(module, (torch.zeros(3, 4, dtype=torch.long),), tmp_path / "m.pt2", dynamic_shapes=shapes)
    program = load(tmp_path / "m.pt2")
    assert {LINEAR, DEQUANTIZE} <= {*operators(program)}
    save(program, tmp_path / "n.pt2")
    with torch.no_grad():
        for size in ((2, 7), (9, 2)):
            i = torch.randint(30, size)
            for each in (
                program,
                torch.export.load(tmp_path / "m.pt2"),
                torch.export.load(tmp_path / "n.pt2"),
            ):
                assert_close(each.module()(i), module(i))


def test_a_loaded_program_compiles_and_has_gradients(tmp_path):
    module, (x,) = product("linear")
    run = load(written(module, (x,), tmp_path / "m.pt2")).module()
    x = x.requires_grad_()
    compiled = torch.compile(run, backend="aot_eager", fullgraph=True)
    for call in (run, compiled):
        made = call(x)
        assert_close(made, module(x))
        (got,) = torch.autograd.grad(made.sum(), x)
        assert_close(got, module.weight.dequantize().sum(0).expand_as(x))
