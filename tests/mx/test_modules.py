"""quantize_: what a model computes is what eager torch computes from weights rounded by the float64 model."""

from __future__ import annotations

import copy
import io
import math
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch
from torch import nn

import ostinato as ost

from .model import FORMATS, rounded

BYTES = {"mxfp4": 16, "mxfp6_e2m3": 24, "mxfp6_e3m2": 24, "mxfp8_e4m3": 32, "mxfp8_e5m2": 32, "mxint8": 32}
by_format = pytest.mark.parametrize("format", FORMATS, ids=lambda f: f.name)


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Parameter(torch.randn(3, 8, 40))
        self.bias = nn.Parameter(torch.randn(3, 8))

    def forward(self, x):
        return (torch.einsum("bi,eoi->beo", x, self.up) + self.bias).mean(1)


def net():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, groups=1),
        nn.ConvTranspose2d(8, 6, 3, stride=2, groups=2),
        nn.ReLU(),
        nn.Conv2d(6, 4, 3, stride=2, padding="valid", groups=2, padding_mode="zeros"),
        nn.Flatten(),
        nn.LayerNorm(4 * 8 * 8),
        nn.Linear(4 * 8 * 8, 40),
        Experts(),
        nn.Linear(8, 5),
    ).eval()


def image():
    return torch.randn(2, 3, 8, 8)


def by_hand(model, format):
    """The same model with ordinary weights, rounded in float64: as [first size, the rest], but experts."""
    model = copy.deepcopy(model)
    for name, p in model.named_parameters():
        if p.dim() > 1 and not name.endswith("bias"):
            rows = p.detach() if name.endswith("up") else p.detach().flatten(1)
            values, _ = rounded(rows.double().numpy(), format.name)
            p.data = torch.from_numpy(values.astype(np.float32)).view(p.shape)
    return model


@by_format
def test_a_model(format):
    model, x = net(), image()
    want = by_hand(model, format)(x)
    names = list(dict(model.named_parameters()))
    assert ost.mx.quantize_(model, format) is model
    assert list(dict(model.named_parameters())) == names
    for module, attribute in (
        (model[0], "weight"),
        (model[1], "weight"),
        (model[6], "weight"),
        (model[7], "up"),
    ):
        weight = getattr(module, attribute)
        assert isinstance(weight, ost.mx.MXTensor)
        assert isinstance(weight, nn.Parameter)
        assert not weight.requires_grad
    assert type(model[5].weight) is nn.Parameter
    torch.testing.assert_close(model(x), want)
    model(x).sum().backward()  # the rest still trains
    assert model[6].bias.grad is not None


CONVOLUTIONS = [
    (nn.Conv1d(4, 6, 5, padding=2, padding_mode="circular"), (2, 4, 20)),
    (nn.Conv2d(4, 6, 3, groups=2), (4, 9, 9)),
    (nn.Conv3d(2, 3, 2, dilation=2), (1, 2, 5, 5, 5)),
    (nn.ConvTranspose1d(4, 6, 5, stride=3, output_padding=1), (4, 20)),
    (nn.ConvTranspose2d(4, 6, (2, 3), groups=2), (2, 4, 5, 5)),
    (nn.ConvTranspose3d(2, 4, 2, bias=False), (1, 2, 3, 3, 3)),
    (nn.Conv1d(1, 6, 5), (2, 1, 20)),  # the weight has the length of a row of the matrix
]


@pytest.mark.parametrize(("layer", "shape"), CONVOLUTIONS, ids=lambda v: getattr(v, "_get_name", str)())
def test_convolutions(layer, shape):
    x = torch.randn(shape)
    model = ost.mx.quantize_(copy.deepcopy(layer), ost.mx.mxfp6_e2m3)
    assert isinstance(model, type(layer))
    assert model.weight.shape == (len(layer.weight), layer.weight[0].numel())
    want = by_hand(layer, ost.mx.mxfp6_e2m3)
    assert torch.equal(model(x), want(x))
    if layer.stride == (3,):
        assert torch.equal(model(x, output_size=[62]), want(x, output_size=[62]))


def test_embeddings():
    table = nn.Embedding(50, 40, padding_idx=3)
    want, ids = by_hand(table, ost.mx.mxfp4), torch.tensor([[1, 3], [49, 0]])
    ost.mx.quantize_(table, ost.mx.mxfp4)
    assert torch.equal(table(ids), want(ids))


def test_what_is_left_is_said():
    class Own(nn.Conv2d):
        def forward(self, x):
            return super().forward(x) * 2

    model = nn.ModuleDict(
        {
            "clipped": nn.Embedding(4, 8, max_norm=1.0),
            "lazy": nn.LazyLinear(8),
            "own": Own(3, 8, 3),
            "normed": nn.utils.parametrizations.weight_norm(nn.Conv1d(4, 4, 3)),
            "complex": nn.Linear(4, 4, dtype=torch.complex64),
            "bilinear": nn.Bilinear(4, 5, 6),
            "taken": nn.Linear(4, 4),
        }
    )
    report = ost.mx.Report()
    ost.mx.quantize_(model, ost.mx.mxfp4, report=report)
    assert [w.names for w in report.quantized] == [("taken.weight",)]
    why = {w.name: w.reason for w in report.left}
    assert "max_norm" in why.pop("clipped.weight")
    assert "first call" in why.pop("lazy.weight")
    assert "way of its own" in why.pop("own.weight")
    assert "computed" in why.pop("normed.weight")
    assert "complex64" in why.pop("complex.weight")
    assert not why
    assert not any(isinstance(p, ost.mx.MXTensor) for n, p in model.named_parameters() if "taken" not in n)


def test_one_matrix_of_a_module_is_no_expert():
    model = Experts()
    model.position = nn.Parameter(torch.randn(1, 7, 8))
    report = ost.mx.Report()
    ost.mx.quantize_(model, ost.mx.mxfp4, report=report)
    assert [w.names for w in report.quantized] == [("up",)]
    assert [w.name for w in report.left] == ["position"]


def test_the_filter_sees_modules_by_name():
    model, seen = net(), []

    def chosen(module, name):
        seen.append((module, name))
        return isinstance(module, nn.Linear) and name != "8"

    ost.mx.quantize_(model, ost.mx.mxfp4, filter_fn=chosen)
    assert seen == [(model[int(name)], name) for name in ("0", "1", "3", "6", "7", "8")]
    assert [n for n, p in model.named_parameters() if isinstance(p, ost.mx.MXTensor)] == ["6.weight"]
    assert type(model[0]) is nn.Conv2d


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(20, 40), nn.Linear(40, 20, bias=False)
        self.head.weight = self.table.weight

    def forward(self, ids):
        return self.head(self.table(ids))


def test_tied_weights_stay_tied():
    model, ids, report = Tied(), torch.tensor([1, 7]), ost.mx.Report()
    want = by_hand(model, ost.mx.mxfp8_e4m3)(ids)
    ost.mx.quantize_(model, ost.mx.mxfp8_e4m3, report=report)
    assert model.head.weight is model.table.weight
    assert [w.names for w in report.quantized] == [("table.weight", "head.weight")]
    assert torch.equal(model(ids), want)
    again = copy.deepcopy(model)
    assert again.head.weight is again.table.weight
    assert torch.equal(again(ids), want)


def test_a_weight_tied_to_one_that_stays_stays():
    for chosen in ("table", "head"):
        model, report = Tied(), ost.mx.Report()
        ost.mx.quantize_(
            model, ost.mx.mxfp4, report=report, filter_fn=lambda m, n, chosen=chosen: n == chosen
        )
        assert model.head.weight is model.table.weight
        assert type(model.head.weight) is nn.Parameter
        assert [w.name for w in report.left] == [f"{chosen}.weight"]
        assert "shared" in report.left[0].reason


@by_format
def test_a_report(format):
    model, report = net(), ost.mx.Report()
    weights = {n: p.detach().clone() for n, p in model.named_parameters()}
    ost.mx.quantize_(model, format, report=report)
    assert len(report.quantized) == 6
    for done in report.quantized:
        exact = weights[done.names[0]].double()
        rows = exact if exact.dim() == 3 else exact.flatten(1)
        noise = rows - torch.from_numpy(rounded(rows.numpy(), format.name)[0])
        want = 10 * math.log10(rows.square().sum().item() / noise.square().sum().item())
        assert done.snr == pytest.approx(want, abs=1e-6)
        assert done.shape == tuple(exact.shape)
        blocks = math.prod(rows.shape[:-1]) * -(-rows.shape[-1] // 32)
        assert (done.bytes_before, done.bytes_after) == (exact.numel() * 4, blocks * (BYTES[format.name] + 1))
    text = str(report)
    assert "7.up" in text
    assert f"{report.bytes_after:,}" in text


@pytest.mark.parametrize("options", [{}, {"activations": ost.mx.mxfp8_e4m3}, {"fake": True}], ids=str)
def test_files_and_programs(options):
    model, other, x = net(), net(), image()
    for each in (model, other):
        ost.mx.quantize_(each, ost.mx.mxfp4, **options)
    want = model(x)
    assert torch.equal(copy.deepcopy(model)(x), want)
    assert torch.equal(pickle.loads(pickle.dumps(model))(x), want)
    for p in other.parameters():
        if type(p) is nn.Parameter:
            p.data.zero_()
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(other(x), want)
    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(model, backend="aot_eager", fullgraph=True)(x), want)
    program = torch.export.export(model, (x,), strict=False)
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    torch.testing.assert_close(torch.export.load(file).module()(x), want)


@by_format
def test_inputs(format):
    linear, x = nn.Linear(40, 6), torch.randn(3, 2, 40)
    conv, signal = nn.Conv1d(40, 6, 3), torch.randn(40, 9)
    want = by_hand(linear, ost.mx.mxfp4), by_hand(conv, ost.mx.mxfp4)
    for layer in (linear, conv):
        ost.mx.quantize_(layer, ost.mx.mxfp4, activations=format)
    short = torch.from_numpy(rounded(x.double().numpy(), format.name)[0]).float()
    torch.testing.assert_close(linear(x), want[0](short))
    short = torch.from_numpy(rounded(signal.t().double().numpy(), format.name)[0]).float().t()
    torch.testing.assert_close(conv(signal), want[1](short))
    x.requires_grad_()
    linear(x).sum().backward()
    torch.testing.assert_close(x.grad, want[0].weight.detach().sum(0).expand_as(x))


def test_a_transformer_rounds_its_inputs_in_inference_too():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval()
    x = torch.randn(2, 5, 32)
    for options in ({"activations": ost.mx.mxfp4}, {"fake": True}):
        model, report = copy.deepcopy(layer), ost.mx.Report()
        ost.mx.quantize_(model, ost.mx.mxfp4, report=report, **options)
        # Attention reads its last layer's weight and never calls it.
        assert [w.name for w in report.left] == ["self_attn.out_proj.weight"]
        with torch.no_grad():
            fast = model(x)
        torch.testing.assert_close(fast, model(x).detach())
        assert not torch.allclose(fast, layer(x).detach(), atol=1e-3)


def test_fake_weights():
    model, x = net(), image()
    model[7] = nn.Linear(40, 8)
    want = by_hand(model, ost.mx.mxfp4)
    ost.mx.quantize_(model, ost.mx.mxfp4, fake=True)
    assert all(type(p) is nn.Parameter for p in model.parameters())
    assert torch.equal(model(x), want(x))
    model(x).square().sum().backward()
    want(x).square().sum().backward()
    for a, b in zip(model.parameters(), want.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)
    before = model(x)
    ost.mx.quantize_(model, ost.mx.mxfp4)
    torch.testing.assert_close(model(x), before, rtol=1e-6, atol=1e-6)


def test_a_fake_embedding_rounds_the_rows_that_are_read():
    for sparse in (False, True):
        table = nn.Embedding(50, 40, padding_idx=3, sparse=sparse)
        want, ids = by_hand(table, ost.mx.mxfp4), torch.tensor([[1, 3], [49, 0]])
        ost.mx.quantize_(table, ost.mx.mxfp4, fake=True)
        assert torch.equal(table(ids), want(ids))
        table(ids).sum().backward()
        assert table.weight.grad.is_sparse == sparse


def test_wrong_arguments_change_nothing():
    model = net()
    for wrong in (
        {"format": "mxfp4"},
        {"format": ost.mx.mxfp4, "activations": "mxfp8"},
        {"format": ost.mx.mxfp4, "block_size": 7},
        {"format": ost.mx.mxfp4, "scale_mode": "up"},
    ):
        with pytest.raises(ost.UsageError):
            ost.mx.quantize_(model, **wrong)
    assert all(type(p) is nn.Parameter for p in model.parameters())


def test_large_weights_are_quantized_in_parts():
    layer = nn.Linear(1000, 700)  # more than two parts
    whole = ost.mx.quantize(layer.weight, ost.mx.mxfp6_e3m2)
    ost.mx.quantize_(layer, ost.mx.mxfp6_e3m2)
    assert torch.equal(layer.weight.qdata, whole.qdata)
    assert torch.equal(layer.weight.scale.view(torch.uint8), whole.scale.view(torch.uint8))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_peak_of_memory_is_the_model_and_one_layer():
    script = """
        import torch, ostinato as ost

        def resident(key):
            with open("/proc/self/status") as file:
                return next(int(line.split()[1]) for line in file if line.startswith(key)) * 1024

        torch.set_num_threads(1)
        small = torch.nn.Linear(1024, 512)
        ost.mx.quantize_(small, ost.mx.mxfp4)  # what is loaded once
        start = resident("VmRSS")
        with torch.no_grad():
            model = torch.nn.Sequential(*(torch.nn.Linear(2048, 2048, bias=False) for _ in range(12)))
        size = sum(p.nbytes for p in model.parameters())
        ost.mx.quantize_(model, ost.mx.mxfp8_e4m3)
        print(size, size // 12, resident("VmHWM") - start)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    size, layer, peak = map(int, done.stdout.split())
    assert peak <= 1.05 * size + layer
