"""Numbers: operators, conversions, and the functions of ``math`` and ``builtins`` on them."""

import cmath
import math

import torch
from torch import Tensor

from ._case import case


@case("integers", (7, 2), (-7, 2), (7, -2), (0, 5))
def arithmetic(a: int, b: int):
    return a + b, a - b, a * b, a / b, a // b, a % b, a**2, -a, abs(a), divmod(a, b), 2 ** abs(a)


@case("integers", (12, 10), (-1, 3))
def bits(a: int, b: int):
    return a & b, a | b, a ^ b, a << 2, a >> 1


@case("integers", (2**62, 3))
def large(a: int, b: int):
    return a - 1 + a, a // b, a % b, float(a)


@case("floats", (7.5, 2.0), (-7.5, 2.0), (7.5, -2.5), (0.0, 3.0))
def float_arithmetic(a: float, b: float):
    return a + b, a - b, a * b, a / b, a // b, a % b, -a, abs(a), a**2, a**b if a > 0 else 0.0


@case("floats", (1.0, 0.0), (-1.0, 0.0), (0.0, 0.0))
def division_by_zero(a: float, b: float) -> float:
    return a / b


@case("floats", (0.5,), (1.5,), (-2.5,), (2.4,), (1e10,))
def rounding(f: float):
    return round(f), math.floor(f), math.ceil(f), int(f)


@case("numbers mixed", (3, 2.5), (-2, 0.5))
def mixed(n: int, f: float):
    return (
        n + f, f - n, n * f, n / f, f // n, f % n, n**f if n > 0 else 0.0, n < f, n == 3.0, max(n, 4),
        min(f, 1.5),
    )  # fmt: skip


@case("numbers mixed", (3, 2.5, True), (0, 0.0, False))
def conversions(n: int, f: float, b: bool):
    return int(f), float(n), bool(n), bool(f), int(b), float(b), str(n), b + 0, complex(n, f)


@case("numbers mixed", (3, 4), (5, -5))
def comparisons(a: int, b: int):
    return a < b, a <= b, a > b, a >= b, a == b, a != b, max(a, b), min(a, b), max(a, b, 7), min([a, b])


@case("booleans", (True, False), (True, True))
def of_truths(a: bool, b: bool):
    return a and b, a or b, not a, a == b, a != b, a & b, a | b, a ^ b


@case("math", (0.5,), (0.25,))
def trigonometry(f: float):
    return (
        math.sin(f), math.cos(f), math.tan(f), math.asin(f), math.acos(f), math.atan(f), math.sinh(f),
        math.cosh(f), math.tanh(f), math.asinh(f), math.acosh(f + 1), math.atanh(f), math.atan2(f, 2.0),
        math.degrees(f), math.radians(f),
    )  # fmt: skip


@case("math", (0.5,), (3.0,))
def exponentials(f: float):
    return (
        math.exp(f), math.log(f), math.log10(f), math.log1p(f), math.expm1(f), math.sqrt(f),
        math.pow(f, 2.0), math.gamma(f), math.lgamma(f), math.erf(f), math.erfc(f),
    )  # fmt: skip


@case("math", (2.75, 2.0), (-2.75, 2.0))
def of_two(a: float, b: float):
    return (
        math.fmod(a, b), math.copysign(a, -b), math.fabs(a), math.modf(a), math.frexp(a), math.ldexp(a, 3),
        math.remainder(a, b),
    )  # fmt: skip


@case("math", (12, 18), (5, 3))
def whole(a: int, b: int):
    return (
        math.gcd(a, b), math.factorial(b), math.sqrt(a), math.floor(a / b), math.ceil(a / b), math.log(a),
        math.pow(a, b),
    )  # fmt: skip


@case("math", (1.0,), (math.inf,), (math.nan,))
def questions(f: float):
    return math.isnan(f), math.isinf(f), math.isfinite(f), f == math.inf, math.pi, math.e, -math.inf


@case("math", (-1.0,), (0.0,), (1000.0,))
def outside(f: float):
    return math.sqrt(f), math.log(f), math.exp(f)


@case("complex", (1 + 2j,))
def complex_numbers(c: complex):
    return c + 1j, c * c, c - 2, c / 2j, c == 1 + 2j, abs(c), -c, cmath.exp(c), cmath.phase(c)


@case("complex", (torch.tensor([1 + 2j, -1j]),))
def complex_tensors(x: Tensor):
    return (
        x.real, x.imag, x.abs(), x.angle(), x * 2j, x.conj(), torch.view_as_real(x), torch.complex(x.real,
        x.imag),
    )  # fmt: skip


@case("numbers of tensors", (torch.tensor(2.5),), (torch.tensor(-1),))
def scalars(x: Tensor):
    return int(x), float(x), bool(x), x.item(), float(x) + 1


@case("numbers of tensors", (torch.tensor([3.0, 1.0]), 2))
def with_numbers(x: Tensor, n: int):
    return (
        x + n, n - x, x * 2.5, x / n, 2 / x, x // n, x % n, n**x, x**n, -x, x > n, x == 1, abs(x), n * x +
        0.5,
    )  # fmt: skip


@case("numbers of tensors", (torch.tensor([3, 1]), 2))
def whole_tensors(x: Tensor, n: int):
    return x + n, x // n, x / n, x % n, x << 1, x >> 1, x & 1, x | 4, x ^ 3, ~x, x == n, x**2


@case("numbers of tensors", (torch.ones(2, 3),))
def sizes(x: Tensor):
    a, b = x.shape
    return (
        x.size(), x.shape[0] * b, a, x.numel(), x.dim(), x.ndim, len(x), x.size(-1), x.stride(),
        x.storage_offset(),
    )  # fmt: skip


@case("numbers of tensors", (torch.tensor([1.0, 2.0]), torch.tensor(3.0)))
def truth(x: Tensor, y: Tensor):
    if y:
        x = x + 1
    return x, not y, bool(x[0] < y) and bool(y), x[0] < y
