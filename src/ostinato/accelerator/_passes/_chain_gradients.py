"""Gradients of activations as instructions of a chain."""

from __future__ import annotations

import math

from ._chain_activations import GELU_CUBIC, GELU_FACTOR, gelu_argument
from ._chain_code import Code, Op, Operand
from ._chain_entry import Arguments, Entry, scaled


def _threshold_backward(c: Code, a: Arguments) -> Operand:
    return c(Op.SELECT, c(Op.LESS_EQUAL, a["self"], a["threshold"]), 0.0, a["grad_output"])


def _sigmoid_backward(c: Code, a: Arguments) -> Operand:
    y = a["output"]
    return c(Op.MULTIPLY, c(Op.MULTIPLY, a["grad_output"], c(Op.SUBTRACT, 1.0, y)), y)


def _tanh_backward(c: Code, a: Arguments) -> Operand:
    y = a["output"]
    return c(Op.MULTIPLY, a["grad_output"], c(Op.SUBTRACT, 1.0, c(Op.MULTIPLY, y, y)))


def _hardtanh_backward(c: Code, a: Arguments) -> Operand:
    x = a["self"]
    outside = c(Op.OR, c(Op.LESS_EQUAL, x, a["min_val"]), c(Op.LESS_EQUAL, a["max_val"], x))
    return c(Op.SELECT, outside, 0.0, a["grad_output"])


def _leaky_relu_backward(c: Code, a: Arguments) -> Operand:
    below = c(Op.MULTIPLY, a["grad_output"], a["negative_slope"])
    return c(Op.SELECT, c(Op.LESS, 0.0, a["self"]), a["grad_output"], below)


def _silu_backward(c: Code, a: Arguments) -> Operand:
    x, s = a["self"], c(Op.SIGMOID, a["self"])
    slope = c(Op.ADD, c(Op.MULTIPLY, x, c(Op.SUBTRACT, 1.0, s)), 1.0)
    return c(Op.MULTIPLY, c(Op.MULTIPLY, a["grad_output"], s), slope)


def _softplus_backward(c: Code, a: Arguments) -> Operand:
    x = scaled(c, a["beta"], a["self"])
    inner = c(Op.MULTIPLY, a["grad_output"], c(Op.SIGMOID, x))
    return c(Op.SELECT, c(Op.LESS, a["threshold"], x), a["grad_output"], inner)


def _gelu_backward(c: Code, a: Arguments) -> Operand:
    x = a["self"]
    if a["approximate"] == "none":
        density = c(Op.EXP, c(Op.MULTIPLY, c(Op.MULTIPLY, x, x), -0.5))
        density = c(Op.MULTIPLY, density, 1 / math.sqrt(2 * math.pi))
        slope = c(Op.ADD, c(Op.NORMAL_CDF, x), c(Op.MULTIPLY, x, density))
        return c(Op.MULTIPLY, a["grad_output"], slope)
    s = c(Op.SIGMOID, gelu_argument(c, x))
    steep = c(Op.MULTIPLY, s, c(Op.SUBTRACT, 1.0, s))
    square = c(Op.MULTIPLY, x, x)
    inner = c(Op.ADD, c(Op.MULTIPLY, square, 3 * GELU_CUBIC * GELU_FACTOR), GELU_FACTOR)
    slope = c(Op.ADD, s, c(Op.MULTIPLY, c(Op.MULTIPLY, x, steep), inner))
    return c(Op.MULTIPLY, a["grad_output"], slope)


def _elu_backward(c: Code, a: Arguments) -> Operand:
    x, alpha, scale, within = a["self_or_result"], a["alpha"], a["scale"], a["input_scale"]
    grad = a["grad_output"]
    if a["is_result"]:
        slope: Operand = scaled(c, within, c(Op.ADD, x, float(alpha) * float(scale)))
    else:
        factor = float(within) * float(alpha) * float(scale)
        slope = scaled(c, factor, c(Op.EXP, scaled(c, within, x)))
    below = c(Op.MULTIPLY, grad, slope)
    return c(Op.SELECT, c(Op.LESS_EQUAL, x, 0.0), below, scaled(c, scale, grad))


def _hardsigmoid_backward(c: Code, a: Arguments) -> Operand:
    x = a["self"]
    inside = c(Op.AND, c(Op.LESS, -3.0, x), c(Op.LESS, x, 3.0))
    return c(Op.SELECT, inside, c(Op.MULTIPLY, a["grad_output"], 1 / 6), 0.0)


def _native_dropout_backward(c: Code, a: Arguments) -> Operand:
    return c(Op.MULTIPLY, c(Op.MULTIPLY, a["grad_output"], a["mask"]), a["scale"])


# By the name of the operator.
GRADIENTS: dict[str, Entry] = {
    "threshold_backward": _threshold_backward,
    "sigmoid_backward": _sigmoid_backward,
    "tanh_backward": _tanh_backward,
    "hardtanh_backward": _hardtanh_backward,
    "leaky_relu_backward": _leaky_relu_backward,
    "silu_backward": _silu_backward,
    "softplus_backward": _softplus_backward,
    "gelu_backward": _gelu_backward,
    "elu_backward": _elu_backward,
    "hardsigmoid_backward": _hardsigmoid_backward,
    "native_dropout_backward": _native_dropout_backward,
}
