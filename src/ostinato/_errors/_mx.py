"""Messages of ``mx``: what: (class, message, hint)."""

from __future__ import annotations

from ._base import OstinatoError, UsageError

MESSAGES: dict[str, tuple[type[OstinatoError], str, str]] = {
    "dtype": (
        UsageError,
        "The tensor has dtype {dtype}, and must be float32, float64, bfloat16 or float16.",
        "convert it first: x.float()",
    ),
    "scalar": (
        UsageError,
        "The tensor has no dimension, and blocks are made along the last one.",
        "reshape it: x.reshape(1)",
    ),
    "format": (
        UsageError,
        "format={value!r} is no MX format.",
        "pass one of {known}",
    ),
    "block_size": (
        UsageError,
        "block_size={value!r} is not one of {known}.",
        "32 is what the specification says",
    ),
    "scale_mode": (
        UsageError,
        "scale_mode={value!r} is not one of {known}.",
        "'floor' is what the specification says",
    ),
    "in_place": (
        UsageError,
        "{op} would change an MXTensor in place.",
        "dequantize, change the result, and quantize it again",
    ),
}
