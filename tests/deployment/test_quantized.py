"""`ost.deploy(mx=...)`: packed weights, overrides, budgets, and the honest error."""

from __future__ import annotations

import copy
import os
import zipfile

import pytest
import torch

import ostinato as ost
from ostinato import _errors
from ostinato.deployment import _proof
from ostinato.deployment._difference import relative_error
from ostinato.deployment._quantize import Quantizer
from ostinato.export import read_metadata, trace_stateful


class Mixed(torch.nn.Module):
    """One of each layer whose weights are quantized, and one that is not."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(60, 64)
        self.conv = torch.nn.Conv1d(64, 96, 3)
        self.linear = torch.nn.Linear(96, 128)
        self.lstm = torch.nn.LSTM(128, 32, batch_first=True)
        self.mask = torch.nn.Parameter(torch.rand(32, 32))

    def forward(self, x):
        x = self.conv(self.table(x).transpose(1, 2)).relu().transpose(1, 2)
        return self.lstm(self.linear(x))[0] * self.mask[0]


@pytest.fixture(scope="module")
def mixed():
    torch.manual_seed(0)
    return Mixed().eval(), torch.randint(0, 60, (2, 9))


def _rounded(module, formats):
    """The module with weights that were rounded one by one, by `ost.mx` alone."""
    rounded = copy.deepcopy(module)
    for name, format in formats.items():
        weight = rounded.get_parameter(name)
        matrix = weight.detach().reshape(weight.shape[0], -1)
        weight.data = ost.mx.quantize(matrix, format).dequantize().reshape(weight.shape)
    return rounded


WEIGHTS = ("table.weight", "conv.weight", "linear.weight", "lstm.weight_ih_l0", "lstm.weight_hh_l0")


class Hidden(torch.nn.Module):
    """Weights in a plain list, as a traced LSTM has them; an argument called as a function of Python's."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(32, 64)
        self.kept = [torch.randn(64, 64)]

    def forward(self, input):
        return torch.nn.functional.linear(self.layer(input), self.kept[0])


def test_weights_without_a_name_are_packed_too(tmp_path):
    torch.manual_seed(0)
    module, x = Hidden().eval(), torch.randn(2, 32)
    report = ost.deploy(module, (x,), out=tmp_path / "net.pt2", mx="mxfp8_e4m3")
    assert len(report.quantization.weights) == 2
    rounded = _rounded(module, {"layer.weight": ost.mx.mxfp8_e4m3})
    rounded.kept = [ost.mx.quantize(module.kept[0], ost.mx.mxfp8_e4m3).dequantize()]
    with torch.no_grad():
        torch.testing.assert_close(ost.load(tmp_path / "net.pt2")(x), rounded(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("format", ["mxfp4", "mxint8"])
def test_every_layer_is_packed_and_does_what_its_rounded_weights_do(mixed, tmp_path, format):
    module, x = mixed
    report = ost.deploy(module, (x,), out=tmp_path / "net.pt2", mx=format)
    found = report.quantization
    assert {each.name for each in found.weights} == set(WEIGHTS)
    assert set(found.left) == {"mask"}
    assert {each.format for each in found.weights} == {format}
    expected = _rounded(module, dict.fromkeys(WEIGHTS, getattr(ost.mx, format)))(x)
    torch.testing.assert_close(ost.load(tmp_path / "net.pt2")(x), expected, rtol=1e-4, atol=1e-5)
    assert found.bytes_after == pytest.approx(sum(each.bytes_after for each in found.weights))
    # The file has the packed weights and not a float32 beside them.
    bits = getattr(ost.mx, format).bits
    assert found.bytes_after < found.bytes_before * (max(bits, 4) + 2) / 32
    assert os.path.getsize(tmp_path / "net.pt2") == report.bytes_after
    entries = zipfile.ZipFile(tmp_path / "net.pt2").infolist()
    largest = max(each.file_size for each in entries if "/weights/" in each.filename)
    assert largest < 96 * 192 * 4  # the largest weight, in float32
    assert found.error > 0
    assert "Agrees" in report.verdict


def test_a_rule_for_each_name_and_the_last_that_fits_counts(mixed, tmp_path):
    module, x = mixed
    rules = {"*": "mxfp4", "lstm.*": None, "lin*": ost.mx.mxint8}
    report = ost.deploy(module, (x,), out=tmp_path / "net.pt2", mx=rules)
    formats = {each.name: each.format for each in report.quantization.weights}
    assert formats == {"table.weight": "mxfp4", "conv.weight": "mxfp4", "linear.weight": "mxint8"}
    assert report.quantization.left["lstm.weight_ih_l0"] == "by choice"


def test_a_budget_widens_what_costs_most(mixed, tmp_path):
    module, x = mixed
    methods = trace_stateful(module, {"forward": [((x,), {})]})
    narrow = Quantizer(methods, "mxfp4", _proof.plans_for(methods, [])).choose(None, print)
    report = ost.deploy(module, (x,), out=tmp_path / "b.pt2", mx="mxfp4", max_error=narrow.error / 4)
    wide = report.quantization
    assert wide.error <= narrow.error / 4
    assert wide.bytes_after > narrow.bytes_after
    with torch.no_grad():
        got, expected = ost.load(tmp_path / "b.pt2")(x), module(x)
    assert relative_error([[expected]], [[got]]) <= narrow.error / 4 * 1.5  # other inputs were measured


def test_a_budget_that_nothing_meets_leaves_the_weights(mixed, tmp_path):
    module, x = mixed
    report = ost.deploy(module, (x,), out=tmp_path / "net.pt2", mx="mxfp4", max_error=1e-9)
    assert report.quantization.weights == ()
    assert report.warnings == ["no weight was quantized"]
    torch.testing.assert_close(ost.load(tmp_path / "net.pt2")(x), module(x), rtol=1e-4, atol=1e-5)


def test_state_and_a_program_as_the_source(mixed, tmp_path):
    module, x = mixed
    ost.export.save(module, tmp_path / "plain.pt2", (x,))
    report = ost.deploy(tmp_path / "plain.pt2", out=tmp_path / "small.pt2", mx="mxfp8_e4m3")
    assert report.quantization.bytes_after < report.quantization.bytes_before / 3
    assert report.eager.calls >= 3
    assert read_metadata(tmp_path / "small.pt2").portable
    loaded = torch.export.load(tmp_path / "small.pt2").module()
    expected = _rounded(module, dict.fromkeys(WEIGHTS, ost.mx.mxfp8_e4m3))(x)
    torch.testing.assert_close(loaded(x), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"mx": "mxfp5"}, "deployment.mx"),
        ({"mx": {"*": "int8"}}, "deployment.mx"),
        ({"mx": {"head*": "mxfp4"}}, "deployment.mx_glob"),
        ({"mx": "mxfp4", "max_error": 0.0}, "deployment.max_error"),
        ({"mx": "mxfp4", "max_error": float("nan")}, "deployment.max_error"),
        ({"max_error": 0.1}, "deployment.max_error"),
    ],
)
def test_what_is_refused(mixed, tmp_path, arguments, code):
    module, x = mixed
    with pytest.raises(_errors.UsageError) as caught:
        ost.deploy(module, (x,), out=tmp_path / "net.pt2", **arguments)
    assert caught.value.code == code
    assert not list(tmp_path.iterdir())


def test_relative_error():
    a, b = torch.tensor([3.0, 4.0]), torch.tensor([3.0, 4.5])
    assert relative_error([[a]], [[b]]) == pytest.approx(0.1)
    assert relative_error([[a, 2 * a]], [[b, 2 * a]]) == pytest.approx(0.5 / 125**0.5)
    assert relative_error([[(a, torch.arange(4))]], [[(a, torch.tensor([0, 1, 2, 9]))]]) == pytest.approx(0.5)
    assert relative_error([[torch.zeros(2)]], [[torch.ones(2)]]) == float("inf")
    assert relative_error([["yes"]], [["no"]]) == float("inf")
    nan = torch.tensor([float("nan"), 1.0])
    assert relative_error([[nan]], [[nan.clone()]]) == 0
