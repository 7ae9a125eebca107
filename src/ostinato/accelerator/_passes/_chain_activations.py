"""Activations as instructions of a chain."""

from __future__ import annotations

import math

from ._chain_code import Code, Op, Operand
from ._chain_entry import Arguments, Entry, scaled


def _hardtanh(c: Code, a: Arguments) -> Operand:
    return c(Op.MINIMUM, c(Op.MAXIMUM, a["self"], a["min_val"]), a["max_val"])


def _six(c: Code, x: Operand) -> Operand:
    """x + 3 between 0 and 6."""
    return c(Op.MINIMUM, c(Op.MAXIMUM, c(Op.ADD, x, 3.0), 0.0), 6.0)


def _hardsigmoid(c: Code, a: Arguments) -> Operand:
    return c(Op.DIVIDE, _six(c, a["self"]), 6.0)


def _hardswish(c: Code, a: Arguments) -> Operand:
    return c(Op.DIVIDE, c(Op.MULTIPLY, a["self"], _six(c, a["self"])), 6.0)


def _leaky_relu(c: Code, a: Arguments) -> Operand:
    x = a["self"]
    return c(Op.SELECT, c(Op.LESS, 0.0, x), x, c(Op.MULTIPLY, x, a["negative_slope"]))


def _prelu(c: Code, a: Arguments) -> Operand:
    x = a["self"]
    return c(Op.SELECT, c(Op.LESS, 0.0, x), x, c(Op.MULTIPLY, x, a["weight"]))


def _elu(c: Code, a: Arguments) -> Operand:
    x, alpha, scale = a["self"], a.get("alpha", 1.0), a.get("scale", 1.0)
    below = c(Op.EXPM1, scaled(c, a.get("input_scale", 1.0), x))
    return c(
        Op.SELECT, c(Op.LESS, x, 0.0), scaled(c, float(alpha) * float(scale), below), scaled(c, scale, x)
    )


def _celu(c: Code, a: Arguments) -> Operand | None:
    alpha = float(a["alpha"])
    if alpha == 0:
        return None
    return _elu(c, {"self": a["self"], "alpha": alpha, "input_scale": 1 / alpha})


def _threshold(c: Code, a: Arguments) -> Operand:
    x = a["self"]
    return c(Op.SELECT, c(Op.LESS_EQUAL, x, a["threshold"]), a["value"], x)


def _gelu(c: Code, a: Arguments) -> Operand:
    x = a["self"]
    if a["approximate"] == "none":
        return c(Op.MULTIPLY, x, c(Op.NORMAL_CDF, x))
    return c(Op.MULTIPLY, x, c(Op.SIGMOID, gelu_argument(c, x)))


# (1 + tanh(u)) / 2 is sigmoid(2 u), which loses no digits where it is small.
GELU_FACTOR, GELU_CUBIC = 2 * math.sqrt(2 / math.pi), 0.044715


def gelu_argument(c: Code, x: Operand) -> Operand:
    cube = c(Op.MULTIPLY, c(Op.MULTIPLY, x, x), x)
    return c(Op.MULTIPLY, c(Op.ADD, c(Op.MULTIPLY, cube, GELU_CUBIC), x), GELU_FACTOR)


def _silu(c: Code, a: Arguments) -> Operand:
    return c(Op.MULTIPLY, a["self"], c(Op.SIGMOID, a["self"]))


def _soft(c: Code, x: Operand) -> Operand:
    return c(Op.LOG1P, c(Op.EXP, x))


def _softplus(c: Code, a: Arguments) -> Operand:
    x = scaled(c, a["beta"], a["self"])
    soft = c(Op.DIVIDE, _soft(c, x), a["beta"])
    return c(Op.SELECT, c(Op.LESS, a["threshold"], x), a["self"], soft)


def _mish(c: Code, a: Arguments) -> Operand:
    return c(Op.MULTIPLY, a["self"], c(Op.TANH, _soft(c, a["self"])))


# By the name of the operator.
ACTIVATIONS: dict[str, Entry] = {
    "hardtanh": _hardtanh,
    "hardsigmoid": _hardsigmoid,
    "hardswish": _hardswish,
    "leaky_relu": _leaky_relu,
    "_prelu_kernel": _prelu,
    "elu": _elu,
    "celu": _celu,
    "threshold": _threshold,
    "gelu": _gelu,
    "silu": _silu,
    "softplus": _softplus,
    "mish": _mish,
}
