"""Files of MX tensors: layouts from bytes made here, and what is written is read."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from safetensors.numpy import load_file

import ostinato as ost

from .files import blockwise, eights, file_of, fours, indexed, powers, sharded
from .model import FORMATS
from .test_tensor import same

load, save = ost.mx.load_safetensors, ost.mx.save_safetensors


def worth(tensor, expected):
    assert isinstance(tensor, ost.mx.MXTensor)
    assert tensor.shape == expected.shape
    np.testing.assert_array_equal(tensor.dequantize(torch.float64).numpy(), expected)


@pytest.mark.parametrize("mark", ["_", "__"])
def test_gpt_oss(tmp_path, mark):
    (packed, numbers), (scales, factors) = fours(3, 4, 96), powers(3, 4, 3)
    bias = np.arange(4, dtype=np.float32)
    parts = {
        f"gate{mark}blocks": ("U8", packed.reshape(3, 4, 3, 16)),
        f"gate{mark}scales": ("U8", scales),
        "gate_bias": ("F32", bias),
    }
    state = load(file_of(tmp_path / "model.safetensors", **parts))
    assert set(state) == {"gate", "gate_bias"}
    worth(state["gate"], blockwise(numbers, factors))
    assert state["gate"].dtype == torch.bfloat16
    assert state["gate_bias"].tolist() == bias.tolist()


@pytest.mark.parametrize(("suffix", "kind"), [("scale", "F8_E8M0"), ("weight_scale_inv", "U8")])
def test_deepseek_experts(tmp_path, suffix, kind):
    (packed, numbers), (scales, factors) = fours(4, 64), powers(4, 2)
    parts = {"w1__weight": ("I8", packed), f"w1__{suffix}": (kind, scales)}
    worth(load(file_of(tmp_path / "a.safetensors", **parts))["w1.weight"], blockwise(numbers, factors))


@pytest.mark.parametrize("shape", [(256, 256), (130, 200), (1, 128)])
def test_deepseek_squares(tmp_path, shape):
    codes, numbers = eights(*shape)
    scales, factors = powers(-(-shape[0] // 128), -(-shape[1] // 128))
    parts = {"wq__weight": ("F8_E4M3", codes), "wq__scale": ("F8_E8M0", scales)}
    tensor = load(file_of(tmp_path / "a.safetensors", **parts))["wq.weight"]
    worth(tensor, blockwise(numbers, np.repeat(factors, 128, 0)[: shape[0]], 128))


def test_scales_of_deepseek_v3_are_no_mx(tmp_path):
    codes, _ = eights(128, 128)
    parts = {
        "a__weight": ("F8_E4M3", codes),
        "a__weight_scale_inv": ("F32", np.ones((1, 1), np.float32)),
    }
    state = load(file_of(tmp_path / "a.safetensors", **parts), layout="deepseek")
    assert not any(isinstance(t, ost.mx.MXTensor) for t in state.values())


def test_compressed_tensors(tmp_path):
    (packed, four), (eight_codes, eight) = fours(4, 64), eights(4, 64)
    scales, factors = powers(4, 2)
    parts = {
        "a__weight_packed": ("U8", packed),
        "a__weight_scale": ("U8", scales),
        "b__weight": ("F8_E4M3", eight_codes),
        "b__weight_scale": ("U8", scales),
    }
    state = load(file_of(tmp_path / "a.safetensors", **parts))
    worth(state["a.weight"], blockwise(four, factors))
    worth(state["b.weight"], blockwise(eight, factors))
    assert set(state) == {"a.weight", "b.weight"}
    parts["a__weight_zero_point"] = ("U8", scales)
    with pytest.raises(ost.ArchiveError, match="symmetric"):
        load(file_of(tmp_path / "b.safetensors", **parts))


def test_torchao(tmp_path):
    (packed, numbers), (scales, factors) = fours(4, 64), powers(4, 2)
    about = {
        "elem_dtype": {"_type": "torch.dtype", "_data": "float4_e2m1fn_x2"},
        "orig_dtype": {"_type": "torch.dtype", "_data": "float32"},
        "block_size": 32,
        "is_swizzled_scales": False,
    }
    said = {"_type": "MXTensor", "_data": about, "_tensor_data_names": ["qdata", "scale"]}
    metadata = {"0.weight": json.dumps(said), "tensor_names": '["0.weight"]'}
    parts = {"0___weight_qdata": ("U8", packed), "0___weight_scale": ("F8_E8M0", scales)}
    parts = {name.replace("0___", "0._"): part for name, part in parts.items()}
    tensor = load(file_of(tmp_path / "a.safetensors", metadata, **parts))["0.weight"]
    worth(tensor, blockwise(numbers, factors))
    assert tensor.dtype == torch.float32
    about["is_swizzled_scales"] = True
    metadata["0.weight"] = json.dumps(said)
    with pytest.raises(ost.ArchiveError, match="swizzled"):
        load(file_of(tmp_path / "b.safetensors", metadata, **parts))


@settings(max_examples=40, deadline=None)
@given(
    shape=st.lists(st.integers(0, 40), min_size=1, max_size=3),
    format=st.sampled_from(FORMATS),
    block_size=st.sampled_from([16, 32, 64, 128]),
    dtype=st.sampled_from([torch.float32, torch.bfloat16, torch.float64]),
)
def test_ours_keeps_everything(tmp_path_factory, shape, format, block_size, dtype):
    path = tmp_path_factory.mktemp("ocp") / "a.safetensors"
    x = ost.mx.quantize(torch.randn(shape).to(dtype), format, block_size=block_size)
    save({"a": x, "b.scale": torch.tensor(3.0)}, path)
    state = load(path)
    same(state["a"], x)
    assert state["b.scale"].item() == 3
    numpy = load_file(path)  # the library's own reader
    assert numpy["a.scale"].tolist() == x.scale.view(torch.uint8).tolist()


@pytest.mark.parametrize("layout", ["gpt-oss", "deepseek", "compressed-tensors", "torchao"])
@pytest.mark.parametrize("format", [ost.mx.mxfp4, ost.mx.mxfp8_e4m3, ost.mx.mxfp6_e2m3], ids=lambda f: f.name)
def test_what_is_written_is_read(tmp_path, layout, format):
    x = ost.mx.quantize(torch.randn(3, 64).bfloat16(), format)
    path = tmp_path / "a.safetensors"
    known = {"gpt-oss": 1, "deepseek": 2, "compressed-tensors": 3, "torchao": 2}[layout]
    if [ost.mx.mxfp4, ost.mx.mxfp8_e4m3, ost.mx.mxfp6_e2m3].index(format) >= known:
        with pytest.raises(ost.UsageError, match="no form"):
            save({"m.weight": x}, path, layout=layout)
        assert not list(tmp_path.iterdir())
        return
    save({"m.weight": x, "m.bias": torch.ones(3)}, path, layout=layout)
    state = load(path)
    same(state["m.weight"], x)
    assert state["m.bias"].tolist() == [1, 1, 1]


def test_a_module_and_back(tmp_path):
    module = torch.nn.Linear(70, 5)
    module.weight = torch.nn.Parameter(ost.mx.quantize(module.weight, ost.mx.mxfp4), requires_grad=False)
    save(module, tmp_path / "a.safetensors")
    first = (tmp_path / "a.safetensors").read_bytes()
    other = torch.nn.Linear(70, 5)
    other.weight.requires_grad_(False)
    other.load_state_dict(load(tmp_path / "a.safetensors"), assign=True)
    same(other.weight, module.weight)
    x = torch.randn(2, 70)
    assert torch.equal(other(x), module(x))
    save(other, tmp_path / "a.safetensors")  # onto the file that it lies in
    assert (tmp_path / "a.safetensors").read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == ["a.safetensors"]


def test_views_and_every_dtype(tmp_path):
    plain = torch.arange(24).reshape(4, 6)
    kinds = [torch.bool, torch.int16, torch.uint64, torch.float16, torch.float8_e5m2, torch.complex64]
    state = {str(k): torch.ones(3).to(k) for k in kinds} | {
        "t": plain.t(),
        "v": plain[1],
        "s": torch.tensor(2.5),
    }
    save({**state, "x": ost.mx.quantize(torch.ones(1), ost.mx.mxint8)}, tmp_path / "a.safetensors")
    back = load(tmp_path / "a.safetensors")
    for name, tensor in state.items():
        assert back[name].dtype == tensor.dtype
        assert back[name].tolist() == tensor.tolist() if tensor.element_size() > 1 else True


def test_several_files(tmp_path, capfd):
    path, lines = indexed(tmp_path, sharded(tmp_path)), []
    assert set(load(path)) == set(load(tmp_path, tell=lines.append)) == {"a", "b"}
    assert lines == ["reading model-0.safetensors (1 of 2)", "reading model-1.safetensors (2 of 2)"]
    assert capfd.readouterr() == ("", "")
    (tmp_path / "model-1.safetensors").unlink()
    with pytest.raises(ost.ArchiveError, match=r"not there: model-1\.safetensors"):
        load(path)


def test_what_no_layout_claims(tmp_path):
    path = file_of(tmp_path / "a.safetensors", a=("F32", np.ones(3, np.float32)))
    with pytest.raises(ost.ArchiveError, match="none of the layouts"):
        load(path)
    assert load(path, layout="gpt-oss")["a"].tolist() == [1, 1, 1]
    with pytest.raises(ost.UsageError, match="layout='x'"):
        load(path, layout="x")
    with pytest.raises(ost.ArchiveError, match="no file"):
        load(tmp_path / "b.safetensors")
    with pytest.raises(ost.UsageError, match="cannot hold"):
        save({"a": "text"}, tmp_path / "c.safetensors")
