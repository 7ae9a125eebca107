"""Equal to torchao's MXTensor, bit for bit, in all scale modes: to what it gave, and to what it gives."""

from __future__ import annotations

import hashlib

import pytest
import torch

import ostinato as ost

FORMATS = [ost.mx.mxfp4, ost.mx.mxfp8_e4m3, ost.mx.mxfp8_e5m2]
MODES = ["floor", "even", "ceil", "rceil"]
# SHA-256 of elements and scales that torchao 0.18.0, MXTensor.to_mx on a CPU, makes of ``blocks()``.
RECORDED = {
    ("mxfp4", "floor"): "9b86cc70dc62e07f2e3bb44b280b1638408cb33e0dbeeb75f4dd990eebd50e7f",
    ("mxfp4", "even"): "b21ce7c31bd5dcf8b36f37ad547f4848646d495a5c1ed92374125beb0235827b",
    ("mxfp4", "ceil"): "ce47efb28a65c8802f5c0807c11c635914e7a959d96bc278ca381cba27abbb55",
    ("mxfp4", "rceil"): "d49ec8e308679d1934399d1fac1d8c7461d56f9af27f1482f01b0e0fedcd5930",
    ("mxfp8_e4m3", "floor"): "62fdbed885f53dc7551866572b409f84e2301de9514fe456231e464f6078952b",
    ("mxfp8_e4m3", "even"): "c5fc094653bd12f5c2fc68de18e129ed267921e4feb0e78fc1d9636631445125",
    ("mxfp8_e4m3", "ceil"): "8bcac79942f09e14a69494a7794ba15f109f9298ba9b02f165cd776ecca01c59",
    ("mxfp8_e4m3", "rceil"): "0c1e8ac3039d12151406dc6b1860736b3c5ea7ca6bfd35ecc2b16d45eabdc61c",
    ("mxfp8_e5m2", "floor"): "ee03611cdb2809abc5a3230b1fc08d8bdc25e096a8f5d6179188c791719647f9",
    ("mxfp8_e5m2", "even"): "859e00040c44a9f102cdf56fb91d1dcd025aedd61b63e0142dce048336430ad9",
    ("mxfp8_e5m2", "ceil"): "cc62b910543541c62de06981786a560a8eed7800b4caa0e5a2cdb344cc853ee4",
    ("mxfp8_e5m2", "rceil"): "ce0addd05719f9134d2528788c31cce1f2adc6ddfca9add7a9acc19854e05379",
}


def blocks():
    """Every bfloat16 from 2^-100 to 2^100, both signs, and zeros: in order, and mixed."""
    bits = torch.arange(1 << 16)
    x = torch.cat([bits, bits * 40503 % (1 << 16)]).to(torch.int16).view(torch.bfloat16)
    size = x.float().abs()
    return x.masked_fill((size < 2.0**-100) | ~(size <= 2.0**100), 0.0).view(-1, 32)


def digest(tensor):
    parts = (tensor.qdata, tensor.scale)
    return hashlib.sha256(b"".join(p.view(torch.uint8).numpy().tobytes() for p in parts)).hexdigest()


def theirs(x, format, mode):
    library = pytest.importorskip("torchao.prototype.mx_formats.mx_tensor")
    modes = pytest.importorskip("torchao.prototype.mx_formats.config").ScaleCalculationMode
    return library.MXTensor.to_mx(x, format.storage, 32, scaling_mode=getattr(modes, mode.upper()))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("format", FORMATS, ids=lambda f: f.name)
def test_what_it_gave(format, mode):
    assert digest(ost.mx.quantize(blocks(), format, scale_mode=mode)) == RECORDED[format.name, mode]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("format", FORMATS, ids=lambda f: f.name)
def test_what_it_gives(format, mode, dtype):
    x = blocks().to(dtype)
    mine, its = ost.mx.quantize(x, format, scale_mode=mode), theirs(x, format, mode)
    assert torch.equal(mine.scale.view(torch.uint8), its.scale.view(torch.uint8).view(mine.scale.shape))
    assert torch.equal(mine.qdata.view(torch.uint8), its.qdata.view(torch.uint8))
    assert torch.equal(mine.dequantize(), its.dequantize(dtype))
