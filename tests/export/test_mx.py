"""Models with quantized weights in files: packed, in operators of torch alone, and the same on every side."""

import os

import pytest
import torch
from torch import nn

import ostinato as ost
from ostinato.export import load, read_metadata, save

from .mx_models import FORMATS, MODELS, quantized


def leaves(tensors):
    return torch.utils._pytree.tree_leaves(tensors)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_makes_the_trip(name, format, tmp_path):
    module, args = quantized(name, format)
    with torch.no_grad():
        expected = module(*args)
        program = torch.export.export(module, args)
        save(program, tmp_path / "m.pt2")
        for read in (load, torch.export.load):
            torch.testing.assert_close(read(tmp_path / "m.pt2").module()(*args), expected)


@pytest.mark.parametrize("format", FORMATS)
def test_weights_stay_packed_in_the_file_under_their_own_names(format, tmp_path):
    torch.manual_seed(0)
    module = ost.mx.quantize_(nn.Linear(2048, 2048, bias=False), getattr(ost.mx, format))
    packed = {}
    for name, weight in module.named_parameters():
        packed[f"{name}.qdata"], packed[f"{name}.scale"] = weight.qdata, weight.scale
    save(torch.export.export(module, (torch.randn(1, 2048),)), tmp_path / "m.pt2")
    assert os.path.getsize(tmp_path / "m.pt2") <= 1.02 * sum(each.nbytes for each in packed.values())
    state = load(tmp_path / "m.pt2").state_dict
    assert state.keys() == packed.keys()
    for name, tensor in state.items():
        assert tensor.dtype == torch.uint8
        assert torch.equal(tensor, packed[name].view(torch.uint8))
    assert read_metadata(tmp_path / "m.pt2").portable


class Rows(nn.Module):
    """Every code under every scale, in blocks of each size: also where scales are NaN or denormal."""

    def __init__(self, format):
        super().__init__()
        kind = getattr(ost.mx, format)
        count, size = kind.packed
        self.weights = nn.ParameterList()
        for block in (16, 32, 64, 128):
            codes = torch.arange(256 * size).mul(37).to(torch.uint8).reshape(-1, block * size // count)
            rows = len(codes) * 256
            scale = torch.arange(256).repeat_interleave(len(codes)).to(torch.uint8).reshape(rows, 1)
            data = codes.repeat(256, 1).view(kind.storage), scale.view(torch.float8_e8m0fnu)
            weight = ost.mx.MXTensor(*data, kind, (rows, block), block, torch.float32)
            self.weights.append(nn.Parameter(weight, requires_grad=False))

    def forward(self, x):
        return [x + weight for weight in self.weights]


@pytest.mark.parametrize("format", FORMATS)
def test_every_code_under_every_scale(format, tmp_path):
    module = Rows(format)
    zero = torch.full((), -0.0)  # keeps the sign of zeros
    save(torch.export.export(module, (zero,)), tmp_path / "m.pt2")
    for read in (load, torch.export.load):
        got = read(tmp_path / "m.pt2").module()(zero)
        for weight, numbers in zip(module.weights, got, strict=True):
            expected = weight.dequantize()
            assert expected.isnan().any()
            assert torch.equal(numbers.isnan(), expected.isnan())  # of whichever bits
            bits = [x.nan_to_num(0.0, torch.inf, -torch.inf).view(torch.int32) for x in (numbers, expected)]
            assert torch.equal(*bits)


def test_a_module_with_state_beside_quantized_weights(tmp_path):
    class Remembers(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(32, 32)
            self.last = torch.zeros(1, 32)

        def forward(self, x):
            self.last = torch.tanh(self.layer(x) + self.last)
            return self.last + 0

    torch.manual_seed(0)
    module = ost.mx.quantize_(Remembers().eval(), ost.mx.mxfp4)
    x = torch.randn(1, 32)
    save(module, tmp_path / "m.pt2", (x,))
    assert "layer.weight.qdata" in load(tmp_path / "m.pt2").state_dict
    run = load(tmp_path / "m.pt2").module()
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(run(x), module(x))
