"""Numbers against ml_dtypes and the specification in float64: each code, each bfloat16, random blocks."""

from __future__ import annotations

import math

import hypothesis
import hypothesis.strategies as st
import ml_dtypes
import numpy as np
import pytest
import torch

import ostinato as ost

from .model import ELEMENTS, FORMATS, MODES, exponent, rounded

by_format = pytest.mark.parametrize("format", FORMATS, ids=lambda f: f.name)


def codes_of(format):
    """All codes in order, as ml_dtypes and integers read them; float64."""
    kind = ELEMENTS[format.name][0]
    codes = np.arange(1 << format.bits, dtype=np.uint8)
    return codes.view(np.int8) / 64.0 if kind is None else codes.view(kind).astype(np.float64)


def tensor_of(format, codes, scales):
    """An MXTensor from bits; ``codes`` is [rows, 32], a block a row."""
    if format.bits == 4:
        data = codes[:, ::2] | codes[:, 1::2] << 4
    elif format.bits == 6:
        four = codes.reshape(-1, 8, 4).astype(np.uint32)
        word = four[..., 0] | four[..., 1] << 6 | four[..., 2] << 12 | four[..., 3] << 18
        data = np.stack([word & 255, word >> 8 & 255, word >> 16], -1).reshape(-1, 24)
    else:
        data = codes
    q = torch.from_numpy(data.astype(np.uint8)).view(format.storage)
    s = torch.from_numpy(scales.astype(np.uint8)).view(torch.float8_e8m0fnu)
    return ost.mx.MXTensor(q, s.reshape(-1, 1), format, codes.shape, 32, torch.float32)


@by_format
def test_every_code_with_every_scale(format):
    codes = np.resize(np.arange(1 << format.bits, dtype=np.uint8), (-(-(1 << format.bits) // 32), 32))
    scales = np.arange(256)
    x = tensor_of(format, np.tile(codes, (256, 1)), scales.repeat(len(codes)))
    with np.errstate(invalid="ignore", over="ignore"):
        elements = np.resize(codes_of(format), codes.shape)
        exact = np.ldexp(1.0, scales - 127)[:, None, None] * elements
    exact[255] = np.nan
    exact = exact.reshape(-1, 32)
    np.testing.assert_array_equal(x.dequantize(torch.float64).numpy(), exact)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(x.dequantize().numpy(), exact.astype(np.float32))
        brief = exact.astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(x.dequantize(torch.bfloat16).float().numpy(), brief)


@by_format
@pytest.mark.parametrize("mode", MODES)
def test_every_bfloat16_sets_a_scale(format, mode):
    bits = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16)
    x = bits.view(torch.bfloat16)
    x = x[x.isfinite()]
    blocks = torch.nn.functional.pad(x.unsqueeze(1), (0, 31))
    q = ost.mx.quantize(blocks, format, scale_mode=mode)
    want, exponents = rounded(blocks.double().numpy(), format.name, mode=mode)
    np.testing.assert_array_equal(q.scale.view(torch.uint8).flatten().numpy(), exponents + 127)
    np.testing.assert_array_equal(q.dequantize(torch.float64).numpy(), want)
    if format is not ost.mx.mxint8:  # integers have one zero
        assert torch.equal(q.dequantize()[:, 0].signbit(), x.signbit())


@by_format
@pytest.mark.parametrize("power", [-126, -20, -3, 0, 1, 7, 100])
def test_every_bfloat16_beside_a_larger_number(format, power):
    x = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(torch.bfloat16).double()
    x = x[x.abs() <= 2.0**power]
    rows = torch.nn.functional.pad(x, (0, -len(x) % 31)).view(-1, 31)
    blocks = torch.cat([torch.full((len(rows), 1), 1.25 * 2.0**power, dtype=torch.float64), rows], 1)
    want, _ = rounded(blocks.numpy(), format.name)
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        got = ost.mx.quantize(blocks.to(dtype), format).dequantize(torch.float64)
        np.testing.assert_array_equal(got.numpy(), want)


@by_format
@hypothesis.settings(max_examples=40, deadline=None)
@hypothesis.given(data=st.data())
def test_blocks_at_random(format, data):
    shape = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 140)))
    block_size = data.draw(st.sampled_from([16, 32, 64, 128]))
    mode = data.draw(st.sampled_from(MODES))
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.float16]))
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 2**31)))
    x, spread = torch.randn((2, *shape), generator=generator, dtype=torch.float64)
    x = (x * torch.exp2(spread * data.draw(st.integers(0, 40)))).to(dtype)
    hypothesis.assume(bool(x.isfinite().all()))
    q = ost.mx.quantize(x, format, block_size=block_size, scale_mode=mode)
    want, exponents = rounded(x.double().numpy(), format.name, block_size, mode)
    np.testing.assert_array_equal(q.scale.view(torch.uint8).flatten().numpy(), exponents + 127)
    np.testing.assert_array_equal(q.dequantize(torch.float64).numpy(), want)
    assert (q.dtype, q.shape) == (x.dtype, x.shape)


@by_format
def test_halves_go_to_the_even(format):
    _, largest, power, digits = ELEMENTS[format.name]
    step = 2.0 ** (power - digits)
    # Between the two numbers that follow a power of two, and between it and the first.
    given = torch.tensor([largest, 2.0**power + step / 2, 2.0**power - step / 4, 2.0**power - step * 3 / 4])
    want = [largest, 2.0**power, 2.0**power, 2.0**power - step]
    assert ost.mx.quantize(given, format).dequantize().tolist() == want


@by_format
def test_bad_blocks_are_nan_and_harm_no_other(format):
    x = torch.randn(4, 64)
    x[0, 3], x[1, 40], x[2, 0] = math.nan, math.inf, -math.inf
    got = ost.mx.quantize(x, format)
    bad = torch.zeros(4, 2, dtype=torch.bool)
    bad[0, 0] = bad[1, 1] = bad[2, 0] = True
    assert torch.equal(got.scale.view(torch.uint8) == 255, bad)
    clean = x.masked_fill(bad.repeat_interleave(32, 1), 0.0)
    want, _ = rounded(clean.double().numpy(), format.name)
    numbers = got.dequantize()
    assert numbers.isnan().equal(bad.repeat_interleave(32, 1))
    np.testing.assert_array_equal(numbers.nan_to_num(0.0).double().numpy(), want)


@by_format
def test_tiny_and_huge_blocks_are_finite(format):
    for value in (2.0**-149, 2.0**-127, 2.0**-126, 3.4e38):
        x = torch.full((32,), value)
        got = ost.mx.quantize(x, format)
        want, _ = rounded(x.double().numpy(), format.name)
        np.testing.assert_array_equal(got.dequantize(torch.float64).numpy(), want)
        assert got.dequantize().isfinite().all()
    x = torch.full((32,), 1e300, dtype=torch.float64)  # beyond the largest scale: saturated
    assert exponent(1e300, format.name, "floor") == 127
    assert ost.mx.quantize(x, format).dequantize()[0].item() == format.largest * 2.0**127
