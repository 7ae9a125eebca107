"""Run by test_native.py with OSTINATO_ISA set: chains against float64, and every shape of a loop."""

from __future__ import annotations

import functools
import itertools
import math

import torch

import ostinato as ost
from ostinato import _native

F = torch.nn.functional
MOST_ULP = {  # of float32, over all of them; what comes out denormal counts in steps of the least number
    torch.sqrt: 1,
    torch.exp: 1,
    torch.exp2: 1,
    torch.expm1: 2,
    torch.log: 1,
    torch.log2: 2,
    torch.log10: 2,
    torch.log1p: 2,
    torch.sin: 2,
    torch.cos: 2,
    torch.tanh: 6,
    torch.sigmoid: 3,
    torch.erf: 5,
    F.gelu: 10,
    torch.floor: 0,
    torch.ceil: 0,
    torch.trunc: 0,
    torch.round: 0,
    torch.reciprocal: 1,
    functools.partial(torch.pow, exponent=2.75): 1,
    functools.partial(torch.pow, exponent=-0.375): 1,
}
WITHOUT_FUSED_PRODUCTS = {F.gelu: 80}  # exp(-x^2 / 2) of an x^2 that is rounded
# What float64 loses itself: (1 + erf(x)) has no digits left where erf(x) is next to -1.
EXACT = {F.gelu: lambda x: x * torch.special.erfc(x * -math.sqrt(0.5)) / 2}
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    float("inf"),
    -float("inf"),
    float("nan"),
    1e-45,
    -1e-45,
]
SPECIAL += [
    1.17549435e-38,
    3.4e38,
    -3.4e38,
    88.8,
    -103.9,
    -87.4,
    127.9,
    128.0,
    -149.5,
    8388608.5,
    65536.5,
    9.01,
]


def floats(count, seed):
    """Of all sizes: each exponent is as likely, and those around 1 more than others."""
    generator = torch.Generator().manual_seed(seed)
    bits = torch.randint(-(2**31), 2**31, (count,), generator=generator, dtype=torch.int64)
    near = torch.randn(count, generator=generator) * 20
    anywhere = bits.to(torch.int32).view(torch.float32)
    return torch.cat([anywhere, near, torch.tensor(SPECIAL)])


def chain(function, *inputs):
    """What a graph whose only step is a chain computes, of inputs written after the capture."""
    given = [torch.zeros_like(x) for x in inputs]
    graph = ost.accelerator.Graph(numerics="fast")
    with graph:
        out = function(*given)
    assert [node.op for node in graph.nodes] == ["ostinato::chain"], graph
    for x, y in zip(given, inputs, strict=True):
        x.copy_(y)
    graph.replay()
    return out


def check_function(function, ulp):
    x = floats(1 << 17, seed=1)
    got, want = chain(function, x), EXACT.get(function, function)(x.double())
    rounded = want.float()
    same = (got == rounded) | (got.isnan() & rounded.isnan())
    spacing = torch.maximum(torch.exp2(torch.floor(torch.log2(want.abs())) - 23), torch.tensor(2.0**-149))
    rounding = 0.5
    if _native.info()["vector_bytes"] == 16:  # which has no fused products
        ulp, rounding = WITHOUT_FUSED_PRODUCTS.get(function, ulp), 2.0
    close = (got.double() - want).abs() <= (ulp + rounding) * spacing
    wrong = ~(same | (close & got.isfinite()))
    assert not wrong.any(), (function, x[wrong][:5], got[wrong][:5], want[wrong][:5])
    # Denormal numbers that a function returns as they are come out exactly.
    unchanged = (rounded == x) & (x.abs() < 2.0**-126)
    assert torch.equal(got[unchanged], x[unchanged]), function
    zeros = (rounded == 0) & (got == 0) & (want == 0)
    assert torch.equal(got[zeros].signbit(), rounded[zeros].signbit()), function


COMPOSED = [
    F.gelu,
    lambda x: F.gelu(x, approximate="tanh"),
    F.silu,
    F.elu,
    F.celu,
    F.selu,
    F.softplus,
    F.mish,
    F.hardswish,
    F.hardsigmoid,
    lambda x: F.relu6(x) * 1.0,
    lambda x: F.leaky_relu(x, 0.1) + 0,
    lambda x: x.clamp(-1, 2) * 1.0,
    lambda x: x.clamp(max=2),
    torch.sign,
    torch.frac,
    torch.abs,
    torch.rsqrt,
    lambda x: x**3,
    lambda x: x**-2,
    lambda x: torch.where(x > 0.5, x * 2, -x),
    lambda x: x.masked_fill(x < 0, 7.0),
    lambda x: (x.isnan() | (x == 1) | ~(x <= 0)).float(),
]


def check_composed(function):
    """Infinite or NaN where eager is, or float64; else as near to float64 as the composition allows."""
    x = floats(1 << 12, seed=2)
    got, want, exact = chain(function, x), function(x), function(x.double())
    finite = want.isfinite() & got.isfinite()
    kinds = finite | (got.isnan() & want.isnan()) | (got == want)
    kinds |= (got.isnan() & exact.isnan()) | (got == exact)  # gelu(inf) is NaN in eager's float32
    assert kinds.all(), (function, x[~kinds][:5], got[~kinds][:5], want[~kinds][:5])
    error, allowed = (got - exact).abs(), 4 * (want - exact).abs() + 1e-5 * exact.abs() + 1e-6
    assert (error <= allowed)[finite].all(), (function, x[finite & (error > allowed)][:5])


BINARY = [
    torch.add,
    torch.sub,
    torch.mul,
    torch.div,
    torch.minimum,
    torch.maximum,
    torch.pow,
    torch.eq,
    torch.ne,
    torch.lt,
    torch.le,
    torch.gt,
    torch.ge,
    torch.logical_and,
    torch.logical_or,
    torch.logical_xor,
]


def check_binary(function):
    a = torch.cat([floats(1 << 10, seed=3), torch.tensor(SPECIAL).repeat_interleave(len(SPECIAL))])
    b = torch.cat([floats(1 << 10, seed=4), torch.tensor(SPECIAL).repeat(len(SPECIAL))])
    got, want = chain(lambda a, b: function(a, b).float() + 0.0, a, b), function(a, b).float()
    same = (got == want) | (got.isnan() & want.isnan()) | ((got - want).abs() <= 3e-7 * want.abs() + 1e-45)
    assert same.all(), (function, a[~same][:5], b[~same][:5], got[~same][:5], want[~same][:5])


def layouts(shape):
    """Tensors of one shape that lie in memory in as many ways as a chain tells apart."""
    yield torch.randn(shape)
    yield torch.randn(*shape[::-1]).permute(*reversed(range(len(shape))))
    yield torch.randn(*shape[:-1], shape[-1] * 2)[..., ::2]
    yield torch.randn(*shape[:-1], shape[-1] + 3)[..., 1 : shape[-1] + 1]
    yield torch.randn(shape[-1]).expand(shape)
    yield torch.randn(*shape[:-1], 1).expand(shape)
    yield torch.randn(()).expand(shape)


def check_layouts(shape):
    for a, b in itertools.product(layouts(shape), repeat=2):
        got = chain(lambda a, b: (a.tanh() + b) * a, a.contiguous(), b.contiguous())
        want = (a.double().tanh() + b.double()) * a.double()
        torch.testing.assert_close(got, want.float(), rtol=1e-6, atol=1e-6)
        given = torch.randn(shape)
        graph = ost.accelerator.Graph(numerics="fast")
        with graph:
            out = (a.tanh() + b) * given
        given.copy_(torch.randn(shape))
        graph.replay()
        torch.testing.assert_close(
            out, ((a.double().tanh() + b.double()) * given.double()).float(), rtol=1e-6, atol=1e-6
        )


def check_formats():
    for dtype in (torch.bfloat16, torch.float16):
        x = floats(1 << 16, seed=5).to(dtype)
        got = chain(lambda x: (x + 1.0).float() * 1.0, x)
        torch.testing.assert_close(got, (x + 1.0).float(), rtol=0, atol=0, equal_nan=True)
        y = floats(1 << 16, seed=6)
        got = chain(lambda y, dtype=dtype: (y * 1.0).to(dtype), y)
        torch.testing.assert_close(got, y.to(dtype), rtol=0, atol=0, equal_nan=True)
    for dtype in (torch.bool, torch.uint8, torch.int32, torch.int64):
        x = torch.randint(0, 2 if dtype is torch.bool else 100, (1000,)).to(dtype)
        got = chain(lambda x: x * 1.5 + 0.25, x)
        torch.testing.assert_close(got, x * 1.5 + 0.25)


if __name__ == "__main__":
    torch.manual_seed(0)
    for function, ulp in MOST_ULP.items():
        check_function(function, ulp)
    for function in COMPOSED:
        check_composed(function)
    for function in BINARY:
        check_binary(function)
    for shape in ((3,), (17, 1), (5, 70), (2, 3, 19), (4, 2, 130), (3, 600)):
        check_layouts(shape)
    check_formats()
    print(_native.info()["isa"])
