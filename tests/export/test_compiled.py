"""Loaded programs through torch's compilers, where there is a compiler for C++."""

import shutil

import pytest
import torch
from torch import nn

from ostinato._errors import ArchiveError
from ostinato.export import load, load_methods, save

pytestmark = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("c++")), reason="no C++ compiler")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    torch.manual_seed(0)
    module, x = nn.Sequential(nn.Linear(8, 4), nn.Tanh()).eval(), torch.randn(3, 8)
    path = tmp_path_factory.mktemp("compiled") / "m.pt2"
    save(torch.export.export(module, (x,)), path)
    return module, x, path


def test_torch_compile(saved):
    module, x, path = saved
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(load(path).module())(x), module(x))


def test_aotinductor_packages_a_loaded_program_and_its_package_is_refused(saved, tmp_path):
    module, x, path = saved
    package = torch._inductor.aoti_compile_and_package(load(path), package_path=str(tmp_path / "aoti.pt2"))
    with torch.no_grad():
        torch.testing.assert_close(torch._inductor.aoti_load_package(package)(x), module(x))
    with pytest.raises(ArchiveError, match="native code") as error:
        load(package)
    assert "aoti_load_package" in error.value.hint


def test_examples_in_the_file_are_those_of_the_program(saved):
    _, x, path = saved
    for program in (load(path), load_methods(path).methods["forward"][0].program):
        (given,), keywords = program.example_inputs
        assert torch.equal(given, x)
        assert keywords == {}
