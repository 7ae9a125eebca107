"""Files run with torch alone: in a process that cannot import ostinato."""

import json
import pathlib
import subprocess
import sys

import pytest
import torch
from torch import nn

import ostinato as ost
from ostinato._errors import ExportError
from ostinato.export import load, save

from . import portable

ALONE = pathlib.Path(__file__).with_name("alone.py")


def test_every_file_runs_with_torch_alone(tmp_path):
    written = portable.write(tmp_path, ("float4_e2m1fn_x2", "float8_e8m0fnu", "uint64"), ("linear",))
    done = subprocess.run([sys.executable, "-I", str(ALONE), str(tmp_path)], capture_output=True, text=True)
    said = json.loads(done.stdout)
    assert said["wrong"] == {}
    assert said["programs"] == written
    assert done.returncode == 0


def test_the_process_has_no_ostinato(tmp_path):
    code = f"import runpy; runpy.run_path({str(ALONE)!r})['main']({str(tmp_path)!r}); import ostinato"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert json.loads(done.stdout)["programs"] == 0
    assert "No module named 'ostinato'" in done.stderr


class Eigen(nn.Module):
    def __init__(self, solve):
        super().__init__()
        self.solve = solve

    def forward(self, x):
        return torch.utils._pytree.tree_leaves(tuple(self.solve(x)))


SOLVERS = ("eigh", "eigvalsh", "eigh_ex")


@pytest.mark.parametrize("name", SOLVERS)
def test_operators_of_ostinato_are_named_or_kept(name, tmp_path):
    x = torch.randn(2, 4, 4)
    module = Eigen(getattr(ost.linalg, name))
    program = torch.export.export(module, (x + x.mT,))
    with pytest.raises(ExportError, match=rf"forward uses torch\.ops\.ostinato\.{name}\.default"):
        save(program, tmp_path / "m.pt2")
    save(program, tmp_path / "m.pt2", portable=False)
    got, expected = load(tmp_path / "m.pt2").module()(x + x.mT), module(x + x.mT)
    assert all(map(torch.equal, got, expected))


def test_a_new_process_finds_the_operators_of_a_file(tmp_path):
    x = torch.diag(torch.tensor([3.0, 1.0, 2.0]))
    save(torch.export.export(Eigen(ost.linalg.eigh), (x,)), tmp_path / "m.pt2", portable=False)
    code = (
        "import sys, torch, ostinato as ost\n"
        "program = ost.export.load(sys.argv[1])\n"
        "print(program.module()(torch.diag(torch.tensor([3.0, 1.0, 2.0])))[0].tolist())"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "m.pt2")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == pytest.approx([1.0, 2.0, 3.0])
