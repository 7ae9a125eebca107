"""Example calls in files: what was given is there again, without a pickle, and bounded."""

import json
import zipfile

import pytest
import torch
from torch import nn

from ostinato._errors import ArchiveError, ExportError
from ostinato.cli import main
from ostinato.export import Variant, load_methods, read_metadata, save, save_methods, trace_stateful

from .hostile import changed, write
from .models import Affine, Detector, detector_calls


def example_in(path, method="forward"):
    variant = load_methods(path).methods[method][0]
    return None if variant.made_up else (variant.args, variant.kwargs)


class Nested(nn.Module):
    def forward(self, parts, scale: float, *, ids=None, mode="plain"):
        a, rest = parts
        return a * scale + rest["b"][0].sum() + ids.sum()


def test_every_argument_of_a_nested_call(tmp_path):
    args = ((torch.randn(2, 3), {"b": [torch.randn(3, 2).t(), None]}), 0.5)
    kwargs = {"ids": torch.tensor([7, 65535, 3]), "mode": "plain"}
    save(Nested(), tmp_path / "m.pt2", args, kwargs)
    (got_parts, scale), got = example_in(tmp_path / "m.pt2")
    assert (scale, got["mode"]) == (0.5, "plain")
    assert got_parts[1]["b"][1] is None
    mine = got_parts[0], got_parts[1]["b"][0], got["ids"]
    for x, its in zip(mine, (args[0][0], args[0][1]["b"][0], kwargs["ids"]), strict=True):
        assert torch.equal(x, its)
        x.zero_()  # memory of its own


DTYPES = ("float32", "bfloat16", "complex64", "bool", "uint16", "float8_e5m2", "float8_e8m0fnu", "uint64")


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 4)])
def test_every_kind_of_tensor(name, shape, tmp_path):
    class Same(nn.Module):
        def forward(self, x):
            return x.clone()

    dtype = getattr(torch, name)
    count = torch.Size(shape).numel() * dtype.itemsize
    x = torch.randint(2, (count,), dtype=torch.uint8).view(dtype).reshape(shape)
    save(torch.export.export(Same(), (x,)), tmp_path / "m.pt2")
    ((got,), _) = example_in(tmp_path / "m.pt2")
    assert (got.dtype, got.shape) == (x.dtype, x.shape)
    assert torch.equal(got.reshape(-1).view(torch.uint8), x.reshape(-1).view(torch.uint8))


def test_each_variant_has_its_own(tmp_path):
    calls = detector_calls()
    calls[0][0][0].normal_()
    save_methods(
        tmp_path / "m.pt2", trace_stateful(Detector().eval(), {"forward": calls}, reset="reset_states")
    )
    loaded = load_methods(tmp_path / "m.pt2").methods["forward"]
    for (args, _), variant in zip(calls, loaded, strict=True):
        assert torch.equal(args[0], variant.args[0])
        assert args[1:] == variant.args[1:]


def test_large_and_missing_examples_are_left_out(tmp_path):
    linear = nn.Linear(4, 4)
    big, none = torch.zeros((1 << 16) + 1, 4), torch.export.export(linear, (torch.ones(2, 4),))
    save(torch.export.export(linear, (big,)), tmp_path / "big.pt2")
    save_methods(tmp_path / "none.pt2", {"forward": [Variant(none)]})
    for name in ("big", "none"):
        path = tmp_path / f"{name}.pt2"
        assert example_in(path) is None
        assert read_metadata(path).methods["forward"].variants[0].example is None
        with zipfile.ZipFile(path) as file:
            assert not any("example" in each for each in file.namelist())


def test_a_file_that_is_saved_again_keeps_them(tmp_path):
    x = torch.randn(2, 4)
    save(Affine(), tmp_path / "a.pt2", (x,))
    save_methods(tmp_path / "b.pt2", load_methods(tmp_path / "a.pt2").methods)
    assert torch.equal(example_in(tmp_path / "b.pt2")[0][0], x)


def test_the_verbs_use_and_show_them(tmp_path, capsys):
    x = torch.tensor([[1.0, 2.0]])
    methods = {"forward": [Variant(torch.export.export(nn.Flatten(), (x,)), (x,))]}
    tolerances = {"rtol": 1e-3, "atol": 0}
    save_methods(tmp_path / "m.pt2", methods, metadata={"tolerances": tolerances})
    assert main(["run", str(tmp_path / "m.pt2"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outputs"][0]["values"] == [[1.0, 2.0]]
    assert main(["inspect", str(tmp_path / "m.pt2"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["examples"], said["tolerances"]) == (1, tolerances)


@pytest.mark.parametrize(
    "tolerances", [{"rtol": 1.0}, {"rtol": -1.0, "atol": 0.0}, {"rtol": "1", "atol": 0}, []]
)
def test_tolerances_that_are_none(tolerances, tmp_path):
    methods = trace_stateful(Affine(), {"forward": [((torch.ones(2, 4),), {})]})
    with pytest.raises(ExportError):
        save_methods(tmp_path / "m.pt2", methods, metadata={"tolerances": tolerances})
    assert not list(tmp_path.iterdir())


def tensor(document):
    return document["methods"]["forward"]["variants"][0]["example"]["args"]["tuple"][0]["tensor"]


@pytest.mark.parametrize(
    "change",
    [
        lambda document: tensor(document).update(shape=[3, 5]),
        lambda document: tensor(document).update(shape=[4, 3]),
        lambda document: tensor(document).update(shape=[-1, 4]),
        lambda document: tensor(document).update(shape=[0, 1 << 62, 1 << 62]),
        lambda document: tensor(document).update(dtype="int32"),
        lambda document: tensor(document).update(dtype="__class__"),
        lambda document: tensor(document).update(entry="model/1"),
        lambda document: tensor(document).update(entry="../weights/weight_0"),
        lambda document: document["methods"]["forward"]["variants"][0]["example"].pop("kwargs"),
        lambda document: document["methods"]["forward"]["variants"][0]["example"].update(args={"value": 1}),
        lambda document: document["methods"]["forward"]["variants"].append(
            document["methods"]["forward"]["variants"][0]
        ),
    ],
)
def test_examples_that_do_not_fit(good, tmp_path, change):
    path = write(tmp_path / "a.pt2", changed(good, "extra/ostinato.json", change))
    with pytest.raises(ArchiveError) as error:
        load_methods(path)
    assert error.value.code == "export.bad_metadata"


def test_an_entry_is_read_once(good, tmp_path):
    """A small file cannot ask for much memory by naming its tensors again and again."""

    def twice(document):
        args = document["methods"]["forward"]["variants"][0]["example"]["args"]["tuple"]
        args.append(args[0])

    path = write(tmp_path / "a.pt2", changed(good, "extra/ostinato.json", twice))
    with pytest.raises(ArchiveError, match="twice"):
        load_methods(path)
