"""What each pointwise operator of aten is as instructions of a chain.

An entry takes the code to write to and the operator's arguments by name, a tensor as
the operand that holds it, and gives the result's operand; None where this call is not
one for a chain. In-place and ``out=`` forms go by the name of the plain one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ._chain_code import Code, Input, Op, Operand, Result

Arguments = dict[str, Any]
Entry = Callable[[Code, Arguments], Operand | None]


def is_tensor(argument: object) -> bool:
    return isinstance(argument, (Input, Result))


def _unary(op: Op) -> Entry:
    return lambda c, a: c(op, a["self"])


def _binary(op: Op) -> Entry:
    return lambda c, a: c(op, a["self"], a["other"])


def _swapped(op: Op) -> Entry:
    return lambda c, a: c(op, a["other"], a["self"])


def _truths(op: Op) -> Entry:
    """Of truths, which numbers are first made."""
    return lambda c, a: c(op, c(Op.TRUTH, a["self"]), c(Op.TRUTH, a["other"]))


def _scaled(c: Code, factor: Operand, x: Operand) -> Operand:
    return x if factor == 1 and not is_tensor(factor) else c(Op.MULTIPLY, x, factor)


def _add(c: Code, a: Arguments) -> Operand:
    return c(Op.ADD, a["self"], _scaled(c, a["alpha"], a["other"]))


def _sub(c: Code, a: Arguments) -> Operand:
    return c(Op.SUBTRACT, a["self"], _scaled(c, a["alpha"], a["other"]))


def _rsub(c: Code, a: Arguments) -> Operand:
    return c(Op.SUBTRACT, a["other"], _scaled(c, a["alpha"], a["self"]))


def _div(c: Code, a: Arguments) -> Operand | None:
    return c(Op.DIVIDE, a["self"], a["other"]) if a.get("rounding_mode") is None else None


def _clamp(c: Code, a: Arguments) -> Operand:
    y: Operand = a["self"]
    if a.get("min") is not None:
        y = c(Op.MAXIMUM, y, a["min"])
    if a.get("max") is not None:
        y = c(Op.MINIMUM, y, a["max"])
    return y


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
    below = c(Op.EXPM1, _scaled(c, a.get("input_scale", 1.0), x))
    return c(
        Op.SELECT, c(Op.LESS, x, 0.0), _scaled(c, float(alpha) * float(scale), below), _scaled(c, scale, x)
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
        return c(Op.GELU, x)
    return c(Op.MULTIPLY, x, c(Op.SIGMOID, _gelu_argument(c, x)))


# (1 + tanh(u)) / 2 is sigmoid(2 u), which loses no digits where it is small.
_GELU_FACTOR, _GELU_CUBIC = 2 * math.sqrt(2 / math.pi), 0.044715


def _gelu_argument(c: Code, x: Operand) -> Operand:
    cube = c(Op.MULTIPLY, c(Op.MULTIPLY, x, x), x)
    return c(Op.MULTIPLY, c(Op.ADD, c(Op.MULTIPLY, cube, _GELU_CUBIC), x), _GELU_FACTOR)


def _silu(c: Code, a: Arguments) -> Operand:
    return c(Op.MULTIPLY, a["self"], c(Op.SIGMOID, a["self"]))


def _soft(c: Code, x: Operand) -> Operand:
    return c(Op.LOG1P, c(Op.EXP, x))


def _softplus(c: Code, a: Arguments) -> Operand:
    scaled = _scaled(c, a["beta"], a["self"])
    soft = c(Op.DIVIDE, _soft(c, scaled), a["beta"])
    return c(Op.SELECT, c(Op.LESS, a["threshold"], scaled), a["self"], soft)


def _mish(c: Code, a: Arguments) -> Operand:
    return c(Op.MULTIPLY, a["self"], c(Op.TANH, _soft(c, a["self"])))


def _reciprocal(c: Code, a: Arguments) -> Operand:
    return c(Op.DIVIDE, 1.0, a["self"])


def _rsqrt(c: Code, a: Arguments) -> Operand:
    return c(Op.DIVIDE, 1.0, c(Op.SQUARE_ROOT, a["self"]))


def _square(c: Code, a: Arguments) -> Operand:
    return c(Op.MULTIPLY, a["self"], a["self"])


def _pow(c: Code, a: Arguments) -> Operand:
    x, exponent = a["self"], a["exponent"]
    if is_tensor(exponent):
        return c(Op.POWER, x, exponent)
    if exponent == 0.5:
        return c(Op.SQUARE_ROOT, x)
    if exponent == -0.5:
        return c(Op.DIVIDE, 1.0, c(Op.SQUARE_ROOT, x))
    if exponent in (1, 2, 3, -1, -2):
        y = x
        for _ in range(abs(int(exponent)) - 1):
            y = c(Op.MULTIPLY, y, x)
        return c(Op.DIVIDE, 1.0, y) if exponent < 0 else y
    return c(Op.POWER, x, exponent)


def _sign(c: Code, a: Arguments) -> Operand:
    return c(Op.SUBTRACT, c(Op.LESS, 0.0, a["self"]), c(Op.LESS, a["self"], 0.0))


def _frac(c: Code, a: Arguments) -> Operand:
    return c(Op.SUBTRACT, a["self"], c(Op.TRUNCATE, a["self"]))


def _lerp(c: Code, a: Arguments) -> Operand:
    start, end, weight = a["self"], a["end"], a["weight"]
    distance = c(Op.SUBTRACT, end, start)
    near = c(Op.ADD, start, c(Op.MULTIPLY, distance, weight))
    far = c(Op.SUBTRACT, end, c(Op.MULTIPLY, distance, c(Op.SUBTRACT, 1.0, weight)))
    if not is_tensor(weight):
        return near if abs(weight) < 0.5 else far
    return c(Op.SELECT, c(Op.LESS, c(Op.ABSOLUTE, weight), 0.5), near, far)


def _addcmul(c: Code, a: Arguments) -> Operand:
    product = c(Op.MULTIPLY, _scaled(c, a["value"], a["tensor1"]), a["tensor2"])
    return c(Op.ADD, a["self"], product)


def _addcdiv(c: Code, a: Arguments) -> Operand:
    quotient = c(Op.DIVIDE, _scaled(c, a["value"], a["tensor1"]), a["tensor2"])
    return c(Op.ADD, a["self"], quotient)


def _where(c: Code, a: Arguments) -> Operand:
    return c(Op.SELECT, a["condition"], a["self"], a["other"])


def _masked_fill(c: Code, a: Arguments) -> Operand:
    return c(Op.SELECT, a["mask"], a["value"], a["self"])


def _isnan(c: Code, a: Arguments) -> Operand:
    return c(Op.NOT_EQUAL, a["self"], a["self"])


def _isinf(c: Code, a: Arguments) -> Operand:
    return c(Op.EQUAL, c(Op.ABSOLUTE, a["self"]), math.inf)


# ---- gradients ----------------------------------------------------------------
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
    scaled = _scaled(c, a["beta"], a["self"])
    inner = c(Op.MULTIPLY, a["grad_output"], c(Op.SIGMOID, scaled))
    return c(Op.SELECT, c(Op.LESS, a["threshold"], scaled), a["grad_output"], inner)


def _gelu_backward(c: Code, a: Arguments) -> Operand:
    x = a["self"]
    if a["approximate"] == "none":
        erf = c(Op.ERF, c(Op.MULTIPLY, x, math.sqrt(0.5)))
        below = c(Op.ADD, c(Op.MULTIPLY, erf, 0.5), 0.5)
        density = c(Op.EXP, c(Op.MULTIPLY, c(Op.MULTIPLY, x, x), -0.5))
        density = c(Op.MULTIPLY, density, 1 / math.sqrt(2 * math.pi))
        slope = c(Op.ADD, below, c(Op.MULTIPLY, x, density))
        return c(Op.MULTIPLY, a["grad_output"], slope)
    s = c(Op.SIGMOID, _gelu_argument(c, x))
    steep = c(Op.MULTIPLY, s, c(Op.SUBTRACT, 1.0, s))
    square = c(Op.MULTIPLY, x, x)
    inner = c(Op.ADD, c(Op.MULTIPLY, square, 3 * _GELU_CUBIC * _GELU_FACTOR), _GELU_FACTOR)
    slope = c(Op.ADD, s, c(Op.MULTIPLY, c(Op.MULTIPLY, x, steep), inner))
    return c(Op.MULTIPLY, a["grad_output"], slope)


def _elu_backward(c: Code, a: Arguments) -> Operand:
    x, alpha, scale, within = a["self_or_result"], a["alpha"], a["scale"], a["input_scale"]
    grad = a["grad_output"]
    if a["is_result"]:
        slope: Operand = _scaled(c, within, c(Op.ADD, x, float(alpha) * float(scale)))
    else:
        factor = float(within) * float(alpha) * float(scale)
        slope = _scaled(c, factor, c(Op.EXP, _scaled(c, within, x)))
    below = c(Op.MULTIPLY, grad, slope)
    return c(Op.SELECT, c(Op.LESS_EQUAL, x, 0.0), below, _scaled(c, scale, grad))


def _hardsigmoid_backward(c: Code, a: Arguments) -> Operand:
    x = a["self"]
    inside = c(Op.AND, c(Op.LESS, -3.0, x), c(Op.LESS, x, 3.0))
    return c(Op.SELECT, inside, c(Op.MULTIPLY, a["grad_output"], 1 / 6), 0.0)


def _native_dropout_backward(c: Code, a: Arguments) -> Operand:
    return c(Op.MULTIPLY, c(Op.MULTIPLY, a["grad_output"], a["mask"]), a["scale"])


# Results that are numbers, of numbers.
ARITHMETIC: dict[str, Entry] = {
    "abs": _unary(Op.ABSOLUTE),
    "neg": _unary(Op.NEGATE),
    "relu": _unary(Op.RELU),
    "sqrt": _unary(Op.SQUARE_ROOT),
    "exp": _unary(Op.EXP),
    "exp2": _unary(Op.EXP2),
    "expm1": _unary(Op.EXPM1),
    "log": _unary(Op.LOG),
    "log2": _unary(Op.LOG2),
    "log10": _unary(Op.LOG10),
    "log1p": _unary(Op.LOG1P),
    "sin": _unary(Op.SIN),
    "cos": _unary(Op.COS),
    "tanh": _unary(Op.TANH),
    "sigmoid": _unary(Op.SIGMOID),
    "erf": _unary(Op.ERF),
    "floor": _unary(Op.FLOOR),
    "ceil": _unary(Op.CEIL),
    "trunc": _unary(Op.TRUNCATE),
    "round": lambda c, a: None if a.get("decimals") else c(Op.ROUND, a["self"]),
    "add": _add,
    "sub": _sub,
    "rsub": _rsub,
    "mul": _binary(Op.MULTIPLY),
    "div": _div,
    "minimum": _binary(Op.MINIMUM),
    "maximum": _binary(Op.MAXIMUM),
    "clamp": _clamp,
    "clamp_min": _clamp,
    "clamp_max": _clamp,
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
    "reciprocal": _reciprocal,
    "rsqrt": _rsqrt,
    "square": _square,
    "pow": _pow,
    "sign": _sign,
    "sgn": _sign,
    "frac": _frac,
    "lerp": _lerp,
    "addcmul": _addcmul,
    "addcdiv": _addcdiv,
    "where": _where,
    "masked_fill": _masked_fill,
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

# Results that are truths, of numbers.
COMPARISONS: dict[str, Entry] = {
    "eq": _binary(Op.EQUAL),
    "ne": _binary(Op.NOT_EQUAL),
    "lt": _binary(Op.LESS),
    "le": _binary(Op.LESS_EQUAL),
    "gt": _swapped(Op.LESS),
    "ge": _swapped(Op.LESS_EQUAL),
    "isnan": _isnan,
    "isinf": _isinf,
    "logical_and": _truths(Op.AND),
    "logical_or": _truths(Op.OR),
    "logical_xor": _truths(Op.XOR),
    "logical_not": _unary(Op.NOT),
}

# Results that are truths, of truths.
LOGIC: dict[str, Entry] = {
    "bitwise_and": _binary(Op.AND),
    "bitwise_or": _binary(Op.OR),
    "bitwise_xor": _binary(Op.XOR),
    "bitwise_not": _unary(Op.NOT),
}

COPIES = {"clone": "self", "_to_copy": "self", "copy_": "src", "copy": "src"}
