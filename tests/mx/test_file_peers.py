"""The libraries that define the layouts read our files and write what we read, where they are installed."""

from __future__ import annotations

import pytest
import torch

import ostinato as ost

load, save = ost.mx.load_safetensors, ost.mx.save_safetensors


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


def test_compressed_tensors_reads_ours_and_writes_what_we_read(tmp_path):
    torch_files = pytest.importorskip("safetensors.torch")
    library = pytest.importorskip("compressed_tensors.compressors")
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

    for format, kind in (
        (ost.mx.mxfp4, "mxfp4-pack-quantized"),
        (ost.mx.mxfp6_e2m3, "mxfp6-pack-quantized"),
        (ost.mx.mxfp8_e4m3, "mxfp8-quantized"),
    ):
        mine = ost.mx.quantize(torch.randn(4, 64).bfloat16(), format)
        save({"m.weight": mine}, tmp_path / "a.safetensors", layout="compressed-tensors")
        parts = torch_files.load_file(tmp_path / "a.safetensors")
        parts = {name.removeprefix("m."): part for name, part in parts.items()}
        args = QuantizationArgs(
            num_bits=format.bits, type="float", strategy="group", group_size=32, scale_dtype=torch.uint8
        )
        scheme = QuantizationScheme(targets=["Linear"], weights=args)
        compressor = library.BaseCompressor.get_value_from_registry(kind)
        theirs = compressor.decompress(parts, scheme)
        assert torch.equal(theirs["weight"].float(), mine.dequantize(torch.float32))
        weight = {"weight": mine.dequantize(), "weight_scale": mine.scale.to(torch.bfloat16)}
        parts = compressor.compress(weight, scheme)
        torch_files.save_file({"m." + name: part for name, part in parts.items()}, tmp_path / "b.safetensors")
        again = load(tmp_path / "b.safetensors", layout="compressed-tensors")["m.weight"]
        assert torch.equal(again.dequantize(), mine.dequantize())
