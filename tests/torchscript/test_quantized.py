"""Quantized modules and packed parameters: bit for bit what TorchScript gives; damaged ones are refused."""

from __future__ import annotations

import copy
import struct

import pytest
import torch
from torch import nn
from torch.ao import quantization as q
from torch.ao.nn import quantized as nnq

import ostinato as ost
from ostinato._errors import ArchiveError
from ostinato.torchscript import _names, _packed

from .archives import FOLDER, method, module_pickle, needs_archives, number, tensor, text, write
from .test_differential import same

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning"),
]


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 4, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(4, 8, batch_first=True)
        self.out = nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, _ = self.lstm(x)
        z, _ = self.gru(x)
        return self.out(y + z)


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.rnn = nn.LSTMCell(4, 4), nn.GRUCell(4, 4), nn.RNNCell(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h, c = self.lstm(x)
        return self.rnn(x, self.gru(x, h)) + c


class Values(nn.Module):
    def __init__(self):
        super().__init__()
        x = torch.randn(3, 4)
        self.register_buffer("one", torch.quantize_per_tensor(x, 0.1, 3, torch.quint8))
        scales, zeros = torch.rand(4) + 0.1, torch.arange(4)
        self.many = torch.quantize_per_channel(x, scales, zeros, 1, torch.qint8)
        self.wide = torch.quantize_per_tensor(x, 0.01, 0, torch.qint32)

    def forward(self, x: torch.Tensor):
        made = torch.quantize_per_tensor(x, 0.05, 1, torch.quint8)
        channels = torch.quantize_per_channel(x, torch.ones(3), torch.zeros(3), 0, torch.qint8)
        return (
            torch.dequantize(self.one) + self.many.dequantize() + self.wide.dequantize(),
            (made.q_scale(), made.q_zero_point(), made.int_repr(), torch.dequantize(made)),
            (channels.q_per_channel_scales(), channels.q_per_channel_axis(), channels.dequantize()),
            torch.quantize_per_tensor_dynamic(x, torch.quint8, False).dequantize(),
            torch.ops.quantized.add(made, made, 0.1, 0).dequantize(),
            torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127),
        )


def static(*layers, shape):
    """The layers between a quantizer and its opposite, calibrated on one batch."""
    net = nn.Sequential(q.QuantStub(), *layers, q.DeQuantStub()).eval()
    net.qconfig = q.get_default_qconfig("x86")
    for layer in net:
        if "Transpose" in type(layer).__name__:
            layer.qconfig = q.QConfig(activation=q.default_observer, weight=q.default_weight_observer)
    q.prepare(net, inplace=True)
    net(torch.randn(shape))
    return q.convert(net)


def one_dimensional():
    layers = (nn.Conv1d(3, 4, 3, padding=1), nn.ReLU(), nn.ConvTranspose1d(4, 2, 2, stride=2))
    return static(*layers, shape=(1, 3, 8))


def two_dimensional():
    layers = (nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, groups=2, dilation=2))
    ends = (nn.ConvTranspose2d(4, 4, 2, stride=2), nn.Hardswish(), nn.Flatten(), nn.Linear(256, 5))
    return static(*layers, *ends, shape=(1, 3, 8, 8))


def three_dimensional():
    return static(nn.Conv3d(2, 4, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2), shape=(1, 2, 4, 4, 4))


def bag(dtype=torch.quint8):
    return nnq.EmbeddingBag(10, 12, dtype=dtype)


IMAGE, ROW, PLACES = torch.randn(2, 3, 8, 8), torch.randn(2, 5, 4), torch.tensor([[1, 2], [9, 0]])
MODELS = {
    "dynamic": (lambda: q.quantize_dynamic(Recurrent(), dtype=torch.qint8), ROW),
    "dynamic in half precision": (lambda: q.quantize_dynamic(Recurrent(), dtype=torch.float16), ROW),
    "dynamic cells": (lambda: q.quantize_dynamic(Cells(), dtype=torch.qint8), ROW[0]),
    "conv1d": (one_dimensional, torch.randn(2, 3, 8)),
    "conv2d": (two_dimensional, IMAGE),
    "conv3d": (three_dimensional, torch.randn(2, 2, 4, 4, 4)),
    "embedding": (lambda: nnq.Embedding(10, 12), PLACES),
    "embedding bag": (bag, PLACES),
    "embedding bag of 4 bits": (lambda: bag(torch.quint4x2), PLACES),
    "quantized values": (Values, torch.randn(3, 4)),
}


OTHERS = [(way, name) for way in ("trace", "freeze") for name in ("dynamic", "conv2d", "embedding bag")]


@pytest.mark.parametrize(("way", "name"), [*(("script", name) for name in MODELS), *OTHERS])
def test_bit_for_bit_what_torchscript_gives(tmp_path, name, way):
    jit = pytest.importorskip("torch.jit", reason="this torch has no torch.jit")
    torch.manual_seed(0)
    make, x = MODELS[name]
    net = make().eval()
    made = jit.trace(net, x, check_trace=False) if way == "trace" else jit.script(net)
    if way == "freeze":
        made = jit.freeze(made)
    path = tmp_path / "a.pt"
    made.save(path)
    loaded = ost.torchscript.load(path)
    with torch.no_grad():
        wanted = jit.load(path)(x)
        same(loaded(x), wanted)
        same(copy.deepcopy(loaded)(x), wanted)
    assert not ost.torchscript.inspect(path).unsupported


@pytest.mark.parametrize("name", MODELS)
def test_source_says_that_it_cannot_write_it(tmp_path, name):
    jit = pytest.importorskip("torch.jit", reason="this torch has no torch.jit")
    make, _ = MODELS[name]
    jit.script(make().eval()).save(tmp_path / "a.pt")
    with pytest.raises(ArchiveError, match="is a packed operator") as caught:
        ost.torchscript.source(tmp_path / "a.pt")
    assert "ost.torchscript.load" in caught.value.hint


@needs_archives
@pytest.mark.parametrize("name", ["mobilenet_quantized.pt", "vit4mnist.ptl"])
def test_real_archives(name):
    calls = torch.load(FOLDER / f"{name.partition('.')[0]}.golden.pt", weights_only=True)
    loaded = ost.torchscript.load(FOLDER / name)
    jit = pytest.importorskip("torch.jit", reason="this torch has no torch.jit")
    theirs = jit.load(FOLDER / name)
    for call in calls:
        got = loaded(*call["args"])
        assert torch.equal(got, theirs(*call["args"]))
        if name == "vit4mnist.ptl":
            torch.testing.assert_close(got, call["out"], rtol=1e-4, atol=1e-5)
        else:
            # Sums of products of bytes saturate on CPUs without VNNI, in torch too: some steps of the output.
            torch.testing.assert_close(got, call["out"], rtol=0, atol=0.8)


# ---- what is damaged ----


def qtensor(key="0", shape=(2, 2), numel=4, scheme=None, storage="QInt8Storage"):
    """The opcodes of a quantized tensor; ``scheme`` those of its parameters."""
    sizes = b"(" + b"".join(map(number, shape)) + b"t"
    strides = b"(" + number(2) + number(1) * (len(shape) - 1) + b"t"
    place = b"(" + text("storage") + f"ctorch\n{storage}\n".encode() + text(key) + text("cpu") + number(numel)
    given = scheme or b"(ctorch\nper_tensor_affine\n" + double(0.5) + number(0) + b"t"
    start = b"ctorch._utils\n_rebuild_qtensor\n("
    return (
        start + place + b"tQ" + number(0) + sizes + strides + given + b"\x89ccollections\nOrderedDict\n)RtR"
    )


def double(value):
    return b"G" + struct.pack(">d", value)


def packed(kind, state):
    return f"c__torch__.torch.classes.{kind}\n)\x81".replace("\x81", "").encode() + b"\x81" + state + b"b"


def integers(*values):
    return b"(" + b"".join(map(number, values)) + b"t"


def listed(*values):
    return b"](" + b"".join(values) + b"e"


def archive(path, state):
    code = method("return x").replace("  training : bool", "  training : bool\n  p : Any")
    data = module_pickle("M", {"training": b"\x88", "p": state})
    entries = {
        "data/0": bytes(range(4)),
        "data/1": struct.pack("<2f", 1, 2),
        "data/2": struct.pack("<3h", 2, 0, 0),
    }
    return write(path, code, data, entries)


CONV = "quantized\nConv2dPackedParamsBase"
LINEAR = "quantized\nLinearPackedParamsBase"
SETTINGS = (2, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0)
PICTURE = qtensor(shape=(2, 2, 1, 1))


def conv(settings, weight=PICTURE, bias=b"N"):
    numbers = listed(*map(number, settings))
    return packed(CONV, number(3) + numbers + listed(b"N", weight, bias) + b"\x87")


def test_packed_parameters_by_hand(tmp_path):
    """The layouts that torch writes no more are read."""
    weight = qtensor(shape=(2, 2))
    for state in [packed(LINEAR, weight + tensor("1") + b"\x86"), conv(SETTINGS, bias=tensor("1"))]:
        made = ost.torchscript.load(archive(tmp_path / "a.pt", state)).p
        found, bias = made.unpack()
        assert found.int_repr().flatten().tolist() == [0, 1, 2, 3]
        assert bias.tolist() == [1, 2]


def change(at, value):
    return (*SETTINGS[:at], value, *SETTINGS[at + 1 :])


DAMAGED = {
    "no groups": conv(change(9, 0)),
    "negative groups": conv(change(9, -2)),
    "groups that do not divide": conv(change(9, 3)),
    "no stride": conv(change(1, 0)),
    "negative padding": conv(change(3, -1)),
    "no dilation": conv(change(5, 0)),
    "other dimensions": conv(change(0, 3)),
    "unknown flags": conv(change(10, 2)),
    "too few settings": conv(SETTINGS[:-1]),
    "a weight of two dimensions": conv(SETTINGS, qtensor()),
    "a float weight": conv(SETTINGS, tensor("1")),
    "a short bias": conv(SETTINGS, bias=tensor("1", shape=(1,))),
    "no weight": conv(SETTINGS, b"N"),
    "another version": packed(CONV, number(4) + listed(number(1)) + listed(b"N", b"N", b"N") + b"\x87"),
    "settings that are no tensor": packed(CONV, text("2") + listed(b"N", PICTURE) + listed(b"N") + b"\x87"),
    "a layer that is a number": packed(LINEAR, number(1)),
    "a layer without a bias": packed(LINEAR, qtensor() + b"\x85"),
    "a bias of text": packed(LINEAR, qtensor() + text("a") + b"\x86"),
    "a scale of nan": qtensor(
        scheme=b"(ctorch\nper_tensor_affine\n" + double(float("nan")) + number(0) + b"t"
    ),
    "no scheme": qtensor(scheme=b"(" + text("x") + double(1.0) + number(0) + b"t"),
    "scales of another number": qtensor(
        scheme=b"(ctorch\nper_channel_affine\n" + tensor("1", shape=(1,)) + tensor("1") + number(0) + b"t"
    ),
    "an axis that is not there": qtensor(
        scheme=b"(ctorch\nper_channel_affine\n" + tensor("1") + tensor("1") + number(7) + b"t"
    ),
    "elements beyond the storage": qtensor(shape=(4, 4)),
    "quantized floats": qtensor(storage="FloatStorage", numel=1, shape=(1,)),
    "an embedding of one scale": packed(
        "quantized\nEmbeddingPackedParamsBase", b"(" + number(1) + listed(qtensor()) + b"]" + b"]t"
    ),
    "a cell of text": packed("rnn\nCellParamsBase", b"(" + text("quantized_dynamic") + b"]]]]t"),
    "a cell of a stranger": packed("rnn\nCellParamsBase", b"(" + text("x") + listed(text("a")) + b"]]]t"),
    "a cell of tensors": packed(
        "rnn\nCellParamsBase",
        b"(" + text("quantized_fp16") + b"]]]" + listed(tensor("1"), tensor("1")) + b"t",
    ),
    "a mobile layer without groups": packed(
        "xnnpack\nConv2dOpContext", b"(" + tensor("1") + b"N" + listed(number(0)) * 3 + number(0) + b"NNt"
    ),
    "a class that is not known": packed("mine\nThing", number(1)),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_packed_parameters_are_refused(tmp_path, name):
    path = archive(tmp_path / "a.pt", DAMAGED[name])
    with pytest.raises(ArchiveError):
        ost.torchscript.load(path)


@pytest.mark.parametrize("numbers", ["[1, 1], [0, 0], [1, 1], 0", "[0, 0], [0, 0], [1, 1], 1"])
def test_code_that_packs_with_zeros_does_not_stop_the_process(tmp_path, numbers):
    weight = "torch.quantize_per_tensor(torch.ones([2, 2, 1, 1]), 1., 0, 12)"
    code = method(f"return ops.quantized.conv2d_prepack({weight}, None, {numbers})")
    with pytest.raises(ValueError, match=r"the stride|groups"):
        ost.torchscript.load(write(tmp_path / "a.pt", code))(torch.ones(1))


def test_mobile_layers_run_through_plain_torch(tmp_path):
    """``prepacked`` needs XNNPACK, which many builds lack; its layers are ordinary ones with a clamp."""
    bounded = packed("xnnpack\nLinearOpContext", b"(" + tensor("1", shape=(1, 2), stride=(2, 1)) + b"N")
    state = bounded[:-1] + double(0.0) + double(3.0) + b"tb"
    code = method("return ops.prepacked.linear_clamp_run(x, self.p)")
    code = code.replace("  training : bool", "  training : bool\n  p : Any")
    data = module_pickle("M", {"training": b"\x88", "p": state})
    module = ost.torchscript.load(write(tmp_path / "a.pt", code, data, {"data/1": struct.pack("<2f", 1, 2)}))
    assert module(torch.tensor([[1.0, 0.5], [1.0, 3.0], [-1.0, 0.0]])).tolist() == [[2], [3], [0]]


@pytest.mark.parametrize("transposed", [False, True])
def test_mobile_convolutions_that_code_packs(tmp_path, transposed):
    kind, extra = ("conv2d_transpose", "[1, 1], ") if transposed else ("conv2d", "")
    weight = "torch.mul(torch.ones([4, 2, 3, 3]), 0.125)"
    arguments = f"{weight}, None, [2, 2], [1, 1], {extra}[1, 1], 2, 0., 2."
    code = method(
        f"c = ops.prepacked.{kind}_clamp_prepack({arguments})\nreturn ops.prepacked.{kind}_clamp_run(x, c)"
    )
    x = torch.randn(1, 4, 6, 6)
    weights = torch.full((4, 2, 3, 3), 0.125)
    if transposed:
        wanted = torch.conv_transpose2d(x, weights, None, 2, 1, 1, 2)
    else:
        wanted = torch.conv2d(x, weights, None, 2, 1, 1, 2)
    same(ost.torchscript.load(write(tmp_path / "a.pt", code))(x), wanted.clamp(0, 2))


def test_every_class_of_the_table_is_restored():
    assert set(_packed._RESTORE) == _names.PACKED
