"""A good file for the tests that damage one."""

import zipfile

import pytest
import torch

from ostinato.export import save

from .models import Affine


@pytest.fixture(scope="package")
def good(tmp_path_factory):
    """Its entries, by their names without the root."""
    path = tmp_path_factory.mktemp("reader") / "good.pt2"
    batch = torch.export.Dim("batch", min=2, max=64)
    shapes = {"x": {0: batch}, "mode": None}
    save(Affine(), path, (torch.randn(3, 4),), {"mode": "bare"}, dynamic_shapes=shapes)
    with zipfile.ZipFile(path) as file:
        return {name.split("/", 1)[1]: file.read(name) for name in file.namelist()}
