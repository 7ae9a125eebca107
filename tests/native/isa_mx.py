"""Run with OSTINATO_ISA set: MX blocks against the specification, products against float64."""

from __future__ import annotations

import itertools
import pathlib
import sys

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

import ostinato as ost
from ostinato import _native
from tests.mx.model import FORMATS, MODES, rounded

SHAPES = [(5, 256), (3, 77), (2, 3, 129), (19, 32), (4,), (2, 0), (0, 32)]
DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def numbers(shape, dtype):
    x = torch.randn(shape) * torch.exp2(torch.randn(shape) * 6)
    return x.clamp(-60000, 60000).to(dtype)


def blocks():
    cases = itertools.product(FORMATS, SHAPES, (16, 32, 64, 128))
    ways = itertools.cycle(itertools.product(MODES, DTYPES))
    for (format, shape, size), (mode, dtype) in zip(cases, ways, strict=False):
        x = numbers(shape, dtype)
        want, exponents = rounded(x.double().numpy(), format.name, size, mode)
        q = ost.mx.quantize(x, format, block_size=size, scale_mode=mode)
        np.testing.assert_array_equal(q.scale.view(torch.uint8).flatten().numpy(), exponents + 127)
        brief = torch.from_numpy(want).to(dtype)
        assert torch.equal(q.dequantize(), brief), (format, shape, size, mode, dtype)
        again = ost.mx.fake_quantize(x, format, block_size=size, scale_mode=mode)
        assert torch.equal(again, brief), (format, shape, size, mode, dtype)


def bad_blocks():
    for format, value in itertools.product(FORMATS, (float("nan"), float("inf"), -float("inf"))):
        x = torch.randn(50, 96)
        x[::7, 40] = value
        bad = torch.zeros(50, 96, dtype=torch.bool)
        bad[::7, 32:64] = True
        for got in (ost.mx.quantize(x, format).dequantize(), ost.mx.fake_quantize(x, format)):
            assert torch.equal(got.isnan(), bad)


def products():
    sizes = itertools.product((1, 7, 100), (8, 100, 256, 700), (1, 2, 3, 40), (16, 32, 64, 128))
    for format, (n, k, m, size) in itertools.product(FORMATS, sizes):
        q = ost.mx.quantize(torch.randn(n, k), format, block_size=size)
        x, bias = torch.randn(m, k), torch.randn(n)
        exact = q.dequantize(torch.float64)
        got = torch.nn.functional.linear(x, q, bias)
        want = x.double() @ exact.T + bias
        total = x.double().abs() @ exact.abs().T + bias.abs()
        assert ((got - want).abs() <= 1e-6 * total).all(), (format, n, k, m, size)


def rounded_layer(n, k, format, inputs, size, bias=True, dtype=torch.float32):
    """A layer that rounds its input, and its weight in float64."""
    layer = torch.nn.Linear(k, n, bias=bias, dtype=dtype)
    ost.mx.quantize_(layer, format, activations=inputs, block_size=size)
    return layer.requires_grad_(False), layer.weight.dequantize(torch.float64)


def products_of_integers():
    """Each product against float64: a block is summed exactly, so that only sums of blocks are rounded."""
    sizes = itertools.product((1, 34), (8, 100, 700), (1, 3, 15), (16, 32, 64, 128))
    for format, (n, k, m, size) in itertools.product((ost.mx.mxfp4, ost.mx.mxint8), sizes):
        layer, exact = rounded_layer(n, k, format, ost.mx.mxint8, size)
        x = numbers((m, k), torch.float32)
        short = torch.from_numpy(rounded(x.double().numpy(), "mxint8", size)[0])
        want = short @ exact.T + layer.bias
        total = blocks_summed(short, exact, size) + layer.bias.abs()
        assert ((layer(x) - want).abs() <= 1.2e-7 * total * (k // size + 2)).all(), (format, n, k, m, size)


def blocks_summed(x, w, size):
    """The sum of magnitudes over blocks, each of which is the magnitude of a sum."""
    pad = (0, -x.shape[1] % size)
    x, w = (torch.nn.functional.pad(t, pad).unflatten(1, (-1, size)) for t in (x, w))
    return torch.einsum("mbi,nbi->mnb", x, w).abs().sum(-1)


def largest_integers():
    """Nothing saturates, with every code where it adds most."""
    for format, low in ((ost.mx.mxfp4, -6.0), (ost.mx.mxint8, -2.0)):
        for sign, k in itertools.product((1.0, -1.0), (32, 160)):
            layer, _ = rounded_layer(3, k, format, ost.mx.mxint8, 32, bias=False)
            codes = layer.weight.qdata.view(torch.uint8)
            codes.fill_(0xFF if format.bits == 4 else 0x80)  # -6, or -128 / 64 from files of others
            layer.weight.scale.view(torch.uint8).fill_(127)
            x = torch.full((9, k), sign * 127 / 64)
            assert torch.equal(layer(x), torch.full((9, 3), low * k * sign * 127 / 64)), (format, sign)


def scales_of_integers_at_the_ends():
    for format, byte in itertools.product((ost.mx.mxfp4, ost.mx.mxint8), (0, 1, 127, 254, 255)):
        layer, _ = rounded_layer(3, 64, format, ost.mx.mxint8, 32, bias=False)
        layer.weight.scale.view(torch.uint8).fill_(byte)
        exact = layer.weight.dequantize(torch.float64)
        for power in (-126, -20, 0, 110):
            x = torch.randn(5, 64).clamp(-1.9, 1.9) * 2.0**power
            x[1] = 0.0
            x[2, :32] = 0.0
            short = torch.from_numpy(rounded(x.double().numpy(), "mxint8")[0])
            want, got, total = short @ exact.T, layer(x), blocks_summed(short, exact, 32)
            fits = (total < 2.0**127) & ((total > 2.0**-120) | (total == 0))
            assert ((got - want)[fits].abs() <= 1e-6 * total[fits]).all(), (format, byte, power)
            x[4, 3] = float("nan")
            assert layer(x)[4].isnan().all()
        assert byte != 255 or got.isnan().all()


def rounded_inputs_of_other_formats():
    for format, inputs, dtype in itertools.product(FORMATS, FORMATS, DTYPES):
        layer, exact = rounded_layer(9, 96, format, inputs, 32, dtype=dtype)
        x = torch.randn(2, 3, 96, dtype=dtype)
        short, _ = rounded(x.double().numpy(), inputs.name)
        want = torch.from_numpy(short) @ exact.T + layer.bias
        step = torch.finfo(dtype).eps
        torch.testing.assert_close(layer(x).double(), want, rtol=step, atol=step)


def products_on_threads():
    """Each row of a weight is one thread's work: the same bits."""
    x = torch.randn(3, 700)
    for format in FORMATS:
        for inputs in (None, ost.mx.mxint8):
            layer = torch.nn.Linear(700, 300)
            ost.mx.quantize_(layer, format, activations=inputs)
            one = layer(x)
            torch.set_num_threads(2)
            assert torch.equal(layer(x), one), (format, inputs)
            torch.set_num_threads(1)


def products_of_what_is_no_number():
    """A row of the weight that holds a NaN, as a scale or as a code, is NaN; so is a row of x."""
    for format, m in itertools.product(FORMATS, (1, 4, 9)):
        w = torch.randn(20, 160)
        w[3, 70] = float("nan")
        q = ost.mx.quantize(w, format)
        bad = torch.zeros(m, 20, dtype=torch.bool)
        bad[:, 3] = True
        if format.bits == 8 and not format.integer:
            q.qdata.view(torch.uint8)[7, 150] = 0x7F  # a NaN in both
            bad[:, 7] = True
        x = torch.randn(m, 160)
        x[m - 1, 5] = float("nan")
        bad[m - 1] = True
        assert torch.equal(torch.nn.functional.linear(x, q).isnan(), bad), (format, m)


def scales_at_the_ends():
    for format, byte in itertools.product(FORMATS, (0, 1, 120, 253)):
        w = torch.ones(3, 64)
        w[:, ::32] = 2.0**format.largest_exponent  # so that ones are ones, with a scale of one
        q = ost.mx.quantize(w, format)
        q.scale.view(torch.uint8).fill_(byte)
        x = torch.full((1, 64), 2.0 ** (100 if byte < 2 else -20))
        x[:, ::32] = 0.0
        got, want = torch.nn.functional.linear(x, q), x.double() @ q.dequantize(torch.float64).T
        torch.testing.assert_close(got.double(), want, rtol=1e-6, atol=0)


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    for case in (
        blocks,
        bad_blocks,
        products,
        products_of_integers,
        largest_integers,
        scales_of_integers_at_the_ends,
        rounded_inputs_of_other_formats,
        products_on_threads,
        products_of_what_is_no_number,
        scales_at_the_ends,
    ):
        case()


if __name__ == "__main__":
    main()
    print(_native.info()["isa"])
