"""What each pointwise operator of aten is as instructions of a chain.

An entry takes the code to write to and the operator's arguments by name, a tensor as
the operand that holds it, and gives the result's operand; None where this call is not
one for a chain. In-place and ``out=`` forms go by the name of the plain one.
"""

from __future__ import annotations

import math

from ._chain_activations import ACTIVATIONS
from ._chain_code import Code, Op, Operand
from ._chain_entry import Arguments, Entry, is_tensor, scaled
from ._chain_gradients import GRADIENTS


def _unary(op: Op) -> Entry:
    return lambda c, a: c(op, a["self"])


def _binary(op: Op) -> Entry:
    return lambda c, a: c(op, a["self"], a["other"])


def _swapped(op: Op) -> Entry:
    return lambda c, a: c(op, a["other"], a["self"])


def _truths(op: Op) -> Entry:
    """Of truths, which numbers are first made."""
    return lambda c, a: c(op, c(Op.TRUTH, a["self"]), c(Op.TRUTH, a["other"]))


def _add(c: Code, a: Arguments) -> Operand:
    return c(Op.ADD, a["self"], scaled(c, a["alpha"], a["other"]))


def _sub(c: Code, a: Arguments) -> Operand:
    return c(Op.SUBTRACT, a["self"], scaled(c, a["alpha"], a["other"]))


def _rsub(c: Code, a: Arguments) -> Operand:
    return c(Op.SUBTRACT, a["other"], scaled(c, a["alpha"], a["self"]))


def _div(c: Code, a: Arguments) -> Operand | None:
    return c(Op.DIVIDE, a["self"], a["other"]) if a.get("rounding_mode") is None else None


def _clamp(c: Code, a: Arguments) -> Operand:
    y: Operand = a["self"]
    if a.get("min") is not None:
        y = c(Op.MAXIMUM, y, a["min"])
    if a.get("max") is not None:
        y = c(Op.MINIMUM, y, a["max"])
    return y


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
    product = c(Op.MULTIPLY, scaled(c, a["value"], a["tensor1"]), a["tensor2"])
    return c(Op.ADD, a["self"], product)


def _addcdiv(c: Code, a: Arguments) -> Operand:
    quotient = c(Op.DIVIDE, scaled(c, a["value"], a["tensor1"]), a["tensor2"])
    return c(Op.ADD, a["self"], quotient)


def _where(c: Code, a: Arguments) -> Operand:
    return c(Op.SELECT, a["condition"], a["self"], a["other"])


def _masked_fill(c: Code, a: Arguments) -> Operand:
    return c(Op.SELECT, a["mask"], a["value"], a["self"])


def _isnan(c: Code, a: Arguments) -> Operand:
    return c(Op.NOT_EQUAL, a["self"], a["self"])


def _isinf(c: Code, a: Arguments) -> Operand:
    return c(Op.EQUAL, c(Op.ABSOLUTE, a["self"]), math.inf)


# Results that are numbers, of numbers.
ARITHMETIC: dict[str, Entry] = {
    **ACTIVATIONS,
    **GRADIENTS,
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
