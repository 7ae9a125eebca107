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
    sizes = itertools.product((1, 7, 50, 100), (8, 100, 160, 256, 700), (1, 2, 3, 5, 40), (16, 32, 64, 128))
    for format, (n, k, m, size) in itertools.product(FORMATS, sizes):
        q = ost.mx.quantize(torch.randn(n, k), format, block_size=size)
        x, bias = torch.randn(m, k), torch.randn(n)
        exact = q.dequantize(torch.float64)
        got = torch.nn.functional.linear(x, q, bias)
        want = x.double() @ exact.T + bias
        total = x.double().abs() @ exact.abs().T + bias.abs()
        assert ((got - want).abs() <= 1e-6 * total).all(), (format, n, k, m, size)


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
    for case in (blocks, bad_blocks, products, products_of_what_is_no_number, scales_at_the_ends):
        case()


if __name__ == "__main__":
    main()
    print(_native.info()["isa"])
