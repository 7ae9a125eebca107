"""The OCP Microscaling specification 1.0 in float64, element by element; roundings are those of ml_dtypes."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

import ostinato as ost

FORMATS = [
    ost.mx.mxfp4,
    ost.mx.mxfp6_e2m3,
    ost.mx.mxfp6_e3m2,
    ost.mx.mxfp8_e4m3,
    ost.mx.mxfp8_e5m2,
    ost.mx.mxint8,
]
MODES = ["floor", "even", "ceil", "rceil"]
# From the tables of the specification: element type, largest number, exponent of the largest power of two,
# mantissa bits.
ELEMENTS = {
    "mxfp4": (ml_dtypes.float4_e2m1fn, 6.0, 2, 1),
    "mxfp6_e2m3": (ml_dtypes.float6_e2m3fn, 7.5, 2, 3),
    "mxfp6_e3m2": (ml_dtypes.float6_e3m2fn, 28.0, 4, 2),
    "mxfp8_e4m3": (ml_dtypes.float8_e4m3fn, 448.0, 8, 3),
    "mxfp8_e5m2": (ml_dtypes.float8_e5m2, 57344.0, 15, 2),
    "mxint8": (None, 127 / 64, 0, 6),
}


def element(x, name):
    """Finite float64 to the nearest element, saturated; float64."""
    kind, largest, _, digits = ELEMENTS[name]
    x = np.clip(x, -largest, largest)
    if kind is None:
        return np.round(x * 2.0**digits) / 2.0**digits
    return x.astype(kind).astype(np.float64)


def exponent(largest_magnitude, name, mode):
    """Of the scale of a block."""
    _, largest, power, digits = ELEMENTS[name]
    if largest_magnitude == 0:
        return -127
    mantissa, e = math.frexp(largest_magnitude)
    if mode == "floor":
        e -= 1
    elif mode == "even":
        rounded = math.floor(mantissa * 2 ** (digits + 1) + 0.5) / 2 ** (digits + 1)
        e = math.frexp(rounded)[1] - 1 + e
    elif mode == "ceil":
        e = next(k for k in (e - 1, e) if math.ldexp(1.0, k) >= largest_magnitude)
    else:
        e = next(k for k in range(e - 3, e + 3) if math.ldexp(largest, k - power) >= largest_magnitude)
    return min(max(e - power, -127), 127)


def rounded(x, name, block_size=32, mode="floor"):
    """What is left of float64 ``[..., K]``, and the exponents of the scales."""
    padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % block_size)])
    blocks = padded.reshape(-1, block_size)
    exponents = np.array([exponent(np.abs(block).max(), name, mode) for block in blocks], dtype=np.int64)
    scale = np.ldexp(1.0, exponents)[:, None]
    out = element(blocks / scale, name) * scale
    return out.reshape(padded.shape)[..., : x.shape[-1]], exponents
