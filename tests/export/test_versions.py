"""Files of each past version of the format, kept as they were written, are read and do what they did."""

import pathlib

import pytest
import torch

from ostinato.export import Session, load, load_methods, read_metadata
from ostinato.export._metadata import SCHEMA

from .models import Policy, Started
from .test_dtypes import Keeps

FILES = pathlib.Path(__file__).parent / "files"
WRITTEN = {
    1: (Policy, "reset_memory", torch.ones(1, 5)),
    2: (lambda: Keeps(torch.float8_e8m0fnu), "clear", torch.arange(8, dtype=torch.uint8).reshape(2, 4)),
    3: (Started, "reset", torch.tensor([1.0, -2.5, 3.25])),
}


def test_every_version_has_a_file():
    assert sorted(FILES.iterdir()) == [FILES / f"schema_{version}.pt2" for version in range(1, SCHEMA + 1)]


@pytest.mark.parametrize("version", WRITTEN)
def test_a_file_of_that_version(version):
    make, reset, x = WRITTEN[version]
    path = FILES / f"schema_{version}.pt2"
    assert set(read_metadata(path).methods) == {"forward", reset}
    module, session = make(), Session(load_methods(path).methods)
    with torch.no_grad():
        expected = [module(x) for _ in range(2)]
        got = [session.call("forward", x) for _ in range(2)]
        assert all(map(torch.equal, got, expected))
        session.call(reset)
        assert torch.equal(session.call("forward", x), expected[0])
        assert torch.equal(load(path).module()(x), expected[0])


def test_what_version_3_has_beside_that():
    path = FILES / "schema_3.pt2"
    assert read_metadata(path).tolerances == {"rtol": 1e-4, "atol": 1e-5}
    variant = load_methods(path).methods["forward"][0]
    assert torch.equal(variant.args[0], WRITTEN[3][2])
    assert not variant.made_up
