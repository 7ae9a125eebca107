"""Operators on numbers, most of which have a namesake on tensors."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

_VARIABLE: Any = torch._C._VariableFunctions


def _either(name: str, scalar: Callable[..., Any]) -> Callable[..., Any]:
    """The tensor operator ``name`` for a tensor first, ``scalar`` for anything else."""
    tensor = getattr(_VARIABLE, name, None) or getattr(torch.Tensor, name, None)
    of_complex = getattr(cmath, name, None)

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(x, Tensor) and tensor is not None:
            return tensor(x, *args, **kwargs)
        if isinstance(x, complex) and of_complex is not None:
            return of_complex(x, *args)
        return scalar(x, *args, **kwargs)

    return call


def _ieee(a: float, b: float) -> float:
    # TorchScript divides as C++ does, where a zero below the line is no error.
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def div(a: Any, b: Any, **kwargs: Any) -> Any:
    """Division; of two integers too, it gives a float."""
    if kwargs:
        return _VARIABLE.div(a, b, **kwargs)
    try:
        return a / b
    except ZeroDivisionError:
        return _ieee(a, b)


def old_division(name: str, a: Any, b: Any, **kwargs: Any) -> Any:
    """Division before format 4, which of integer tensors gave integers."""
    if isinstance(a, Tensor) and not kwargs:
        kinds = [x.is_floating_point() or x.is_complex() for x in (a, b) if isinstance(x, Tensor)]
        if not (any(kinds) or isinstance(b, float)):
            kwargs = {"rounding_mode": "trunc"}
    if name == "div_":
        return a.div_(b, **kwargs)
    return div(a, b, **kwargs)


def power(a: Any, b: Any) -> Any:
    """A power; of two numbers it gives a float."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return _VARIABLE.pow(a, b)
    if isinstance(a, complex) or isinstance(b, complex):
        return a**b
    if isinstance(a, (torch.SymInt, torch.SymFloat)) or isinstance(b, (torch.SymInt, torch.SymFloat)):
        return torch.sym_float(a) ** b
    try:
        return math.pow(a, b)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.inf if a == 0 else math.nan


def _round(x: Any, digits: int = 0) -> float:
    return float(round(x, digits)) if digits else float(round(x))


def _sqrt(x: Any) -> float:
    if isinstance(x, (torch.SymInt, torch.SymFloat)):
        return torch.sym_sqrt(x)  # type: ignore[no-any-return]
    return _real_sqrt(x)


def _quiet(function: Callable[..., float]) -> Callable[..., float]:
    """The function of the C library, which gives nan or inf where Python's raises."""

    def call(*args: Any) -> float:
        try:
            return function(*args)
        except ValueError:
            return -math.inf if function in _POLES and args[0] == 0 else math.nan
        except OverflowError:
            return math.inf

    return call


_real_sqrt = _quiet(math.sqrt)
_POLES = (math.log, math.log2, math.log10)


def _least(a: Any, b: Any = None, *rest: Any, **kwargs: Any) -> Any:
    return _extreme(min, _VARIABLE.min, a, b, *rest, **kwargs)


def _most(a: Any, b: Any = None, *rest: Any, **kwargs: Any) -> Any:
    return _extreme(max, _VARIABLE.max, a, b, *rest, **kwargs)


def _extreme(
    number: Callable[..., Any], tensor: Callable[..., Any], a: Any, b: Any, *rest: Any, **kwargs: Any
) -> Any:
    if isinstance(a, Tensor):
        return tensor(a, **kwargs) if b is None else tensor(a, b, *rest, **kwargs)
    if b is None:
        return number(a)
    if isinstance(a, list):
        return [number(x, y) for x, y in zip(a, b, strict=True)]
    return number(a, b)


def _equal(a: Any, b: Any) -> Any:
    return a == b


def _unequal(a: Any, b: Any) -> Any:
    return a != b


def _divmod(a: Any, b: Any) -> tuple[Any, Any]:
    quotient, rest = divmod(a, b)
    return quotient, rest


def _modf(x: float) -> tuple[float, float]:
    return math.modf(x)


def _frexp(x: float) -> tuple[float, int]:
    return math.frexp(x)


_REAL: dict[str, Callable[..., float]] = {
    "exp": math.exp, "log": math.log, "log2": math.log2, "log10": math.log10, "log1p": math.log1p,
    "expm1": math.expm1, "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin,
    "acos": math.acos, "atan": math.atan, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh,
    "asinh": math.asinh, "acosh": math.acosh, "atanh": math.atanh, "lgamma": math.lgamma,
    "gamma": math.gamma, "erf": math.erf, "erfc": math.erfc, "degrees": math.degrees,
    "radians": math.radians, "fabs": math.fabs, "atan2": math.atan2, "fmod": math.fmod,
    "copysign": math.copysign, "ldexp": math.ldexp, "mathremainder": math.remainder,
}  # fmt: skip

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _either(name, _quiet(function)) for name, function in _REAL.items()},
    "angle": _either("angle", cmath.phase),
    "sqrt": _either("sqrt", _sqrt),
    "floor": _either("floor", math.floor),
    "ceil": _either("ceil", math.ceil),
    "round": _either("round", _round),
    "trunc": _either("trunc", math.trunc),
    "abs": _either("abs", abs),
    "isnan": _either("isnan", math.isnan),
    "isinf": _either("isinf", math.isinf),
    "isfinite": _either("isfinite", math.isfinite),
    "gcd": _either("gcd", math.gcd),
    "modf": _either("modf", _modf),
    "frexp": _either("frexp", _frexp),
    "sum": _either("sum", sum),
    "any": _either("any", any),
    "all": _either("all", all),
    "factorial": math.factorial,
    "divmod": _divmod,
    "div": div,
    "pow": power,
    "max": _most,
    "min": _least,
    "eq": _either("eq", _equal),
    "ne": _either("ne", _unequal),
}
