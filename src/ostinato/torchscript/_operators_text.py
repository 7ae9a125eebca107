"""Texts of values, written as TorchScript writes them."""

from __future__ import annotations

import ctypes
import math
import re
from typing import Any

from torch import Tensor

_PLACE = re.compile(r"%(.)", re.DOTALL)


def text(value: Any) -> str:
    """The text of a value: floats with 17 digits and a point, containers without quotes."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(text, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(text, value)) + (",)" if len(value) == 1 else ")")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text(key)}: {text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Tensor):
        return repr(value)
    return str(value)


def _float(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    written = f"{value + 0.0:.17g}" if value else "0"
    return written + "." if written.lstrip("-").isdigit() else written


def format_text(pattern: str, *values: Any) -> str:
    """``pattern`` with each ``{}`` replaced by the text of the next value."""
    parts = pattern.split("{}")
    if len(parts) - 1 > len(values):
        raise RuntimeError(f"too few values for the format string: {pattern}")
    written = [parts[0]]
    for part, value in zip(parts[1:], values, strict=False):
        written += [text(value), part]
    return "".join(written)


def format_percent(pattern: str, *values: Any) -> str:
    """``pattern`` with each ``%s``, ``%d``, ``%f`` … replaced by the next value."""
    if len(values) == 1 and isinstance(values[0], tuple):
        values = values[0]
    remaining = iter(values)

    def place(match: re.Match[str]) -> str:
        kind = match.group(1)
        if kind == "%":
            return "%"
        value = next(remaining, None)
        if kind in "sr":
            return text(value)
        if kind in "eEfF":
            single = ctypes.c_float(value).value if value is not None else 0.0  # as TorchScript prints them
            return f"%{kind}" % (single,)
        if kind in "dicxX":
            return f"%{kind}" % (value,)
        raise RuntimeError(f"%{kind} is no specifier of TorchScript's format strings")

    return _PLACE.sub(place, pattern)
