"""Files of MX tensors: layouts from bytes made here, other libraries reading ours, broken files."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import ostinato as ost

from .model import FORMATS
from .test_tensor import same

safetensors_numpy = pytest.importorskip("safetensors.numpy")
load, save = ost.mx.load_safetensors, ost.mx.save_safetensors
E2M1 = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])


def file_of(path, metadata=None, **tensors):
    """A file by hand: ``name=(dtype, array of bytes or numbers)``, dots in names as ``__``."""
    head, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, (dtype, array) in tensors.items():
        raw = array.tobytes()
        offsets = [len(data), len(data) + len(raw)]
        head[name.replace("__", ".")] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": offsets}
        data += raw
    text = json.dumps(head).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def fours(*shape):
    """Random codes of mxfp4: as bytes, low nibble first, and as numbers."""
    codes = np.random.default_rng(0).integers(0, 16, shape, dtype=np.uint8)
    numbers = np.where(codes & 8, -1.0, 1.0) * E2M1[codes & 7]
    return codes[..., ::2] | codes[..., 1::2] << 4, numbers


def eights(*shape):
    codes = np.random.default_rng(1).integers(0, 126, shape, dtype=np.uint8)
    return codes, codes.view(ml_dtypes.float8_e4m3fn).astype(np.float64)


def powers(*shape):
    """Random scales: as bytes of e8m0 and as numbers."""
    scales = np.random.default_rng(2).integers(117, 137, shape, dtype=np.uint8)
    return scales, 2.0 ** (scales.astype(np.float64) - 127)


def blockwise(numbers, scales, size=32):
    return numbers * np.repeat(scales, size, -1)[..., : numbers.shape[-1]]


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
    numpy = safetensors_numpy.load_file(path)  # the library's own reader
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


def sharded(folder):
    for i, name in enumerate("ab"):
        (packed, _), (scales, _) = fours(2, 32), powers(2, 1)
        parts = {f"{name}_blocks": ("U8", packed.reshape(2, 1, 16)), f"{name}_scales": ("U8", scales)}
        file_of(folder / f"model-{i}.safetensors", **parts)
    index = {f"{n}_{p}": f"model-{i}.safetensors" for i, n in enumerate("ab") for p in ("blocks", "scales")}
    return index


def indexed(folder, index):
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": index}))
    return path


def test_several_files(tmp_path, capfd):
    path, lines = indexed(tmp_path, sharded(tmp_path)), []
    assert set(load(path)) == set(load(tmp_path, tell=lines.append)) == {"a", "b"}
    assert lines == ["reading model-0.safetensors (1 of 2)", "reading model-1.safetensors (2 of 2)"]
    assert capfd.readouterr() == ("", "")
    (tmp_path / "model-1.safetensors").unlink()
    with pytest.raises(ost.ArchiveError, match=r"not there: model-1\.safetensors"):
        load(path)


@pytest.mark.parametrize("name", ["../a", "/etc/passwd", "x/a", "x\\a", "c:a", "..", "", 3, None, "a\0"])
def test_an_index_leads_nowhere_else(tmp_path, name):
    path = indexed(tmp_path, {**sharded(tmp_path), "c": name})
    with pytest.raises(ost.ArchiveError, match="plain name"):
        load(path)


def test_an_index_that_lies(tmp_path):
    path = indexed(tmp_path, {**sharded(tmp_path), "c": "model-0.safetensors"})
    with pytest.raises(ost.ArchiveError, match=r"the first is c\."):
        load(path)


def test_sizes_are_checked(tmp_path):
    (packed, _), (scales, _) = fours(4, 64), powers(4, 3)
    parts = {"a__weight_packed": ("U8", packed), "a__weight_scale": ("U8", scales)}
    with pytest.raises(ost.ArchiveError, match=r"\[4, 3\], and should have \[4, 2\]"):
        load(file_of(tmp_path / "a.safetensors", **parts))
    for about in (
        {"shape": [2**61, 2**61]},
        {"block_size": 0},
        {"format": "mxfp5"},
        {"shape": [-1]},
        {"dtype": []},
    ):
        said = {"format": "mxfp4", "block_size": 32, "shape": [4, 64], "dtype": "float32", **about}
        metadata = {"ostinato.mx": "1", "ostinato.mx:a": json.dumps(said)}
        parts = {"a__qdata": ("U8", packed), "a__scale": ("U8", scales[:, :2].copy())}
        with pytest.raises(ost.ArchiveError):
            load(file_of(tmp_path / "b.safetensors", metadata, **parts))


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


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "a.safetensors"
    save({"a.weight": ost.mx.quantize(torch.randn(3, 40), ost.mx.mxfp4), "b": torch.ones(3)}, path)
    return path


def test_no_prefix_of_a_file_is_read(good):
    data, path = good.read_bytes(), good.with_name("cut.safetensors")
    for length in range(0, len(data), 7):
        path.write_bytes(data[:length])
        with pytest.raises(ost.ArchiveError):
            load(path)


@settings(max_examples=300, deadline=None)
@given(where=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
def test_a_changed_byte_is_read_or_refused(good, where, byte):
    data, path = bytearray(good.read_bytes()), good.with_name("changed.safetensors")
    data[int(where * len(data))] = byte
    path.write_bytes(data)
    try:
        state = load(path)
    except ost.OstinatoError:
        return
    for tensor in state.values():
        if isinstance(tensor, ost.mx.MXTensor):
            assert tensor.dequantize().shape == tensor.shape


def test_torchao_reads_ours_and_writes_what_we_read(tmp_path):
    support = pytest.importorskip("torchao.prototype.safetensors.safetensors_support")
    from torchao.prototype.mx_formats.mx_tensor import MXTensor

    torch_files = pytest.importorskip("safetensors.torch")
    x = torch.randn(4, 64)
    for format in (ost.mx.mxfp4, ost.mx.mxfp8_e4m3):
        mine, path = ost.mx.quantize(x, format), tmp_path / f"{format.name}.safetensors"
        save({"0.weight": mine, "0.bias": torch.ones(4)}, path, layout="torchao")
        with torch_files.safe_open(path, framework="pt") as file:
            tensors, said = {n: file.get_tensor(n) for n in file.keys()}, file.metadata()  # noqa: SIM118
        theirs, left = support.unflatten_tensor_state_dict(tensors, said)
        assert not left
        assert torch.equal(theirs["0.weight"].dequantize(torch.float32), mine.dequantize())
        again = MXTensor.to_mx(x, format.storage, 32)
        tensors, said = support.flatten_tensor_state_dict({"0.weight": again, "0.bias": torch.ones(4)})
        torch_files.save_file(tensors, path, metadata=said)
        assert torch.equal(load(path)["0.weight"].dequantize(), again.dequantize(torch.float32))


def test_compressed_tensors_reads_ours(tmp_path):
    library = pytest.importorskip("compressed_tensors.compressors")
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

    for format, kind in (
        (ost.mx.mxfp4, "mxfp4-pack-quantized"),
        (ost.mx.mxfp6_e2m3, "mxfp6-pack-quantized"),
        (ost.mx.mxfp8_e4m3, "mxfp8-quantized"),
    ):
        mine = ost.mx.quantize(torch.randn(4, 64).bfloat16(), format)
        save({"m.weight": mine}, tmp_path / "a.safetensors", layout="compressed-tensors")
        parts = pytest.importorskip("safetensors.torch").load_file(tmp_path / "a.safetensors")
        parts = {name.removeprefix("m."): part for name, part in parts.items()}
        args = QuantizationArgs(
            num_bits=format.bits, type="float", strategy="group", group_size=32, scale_dtype=torch.uint8
        )
        scheme = QuantizationScheme(targets=["Linear"], weights=args)
        theirs = library.BaseCompressor.get_value_from_registry(kind).decompress(parts, scheme)
        assert torch.equal(theirs["weight"].float(), mine.dequantize(torch.float32))
