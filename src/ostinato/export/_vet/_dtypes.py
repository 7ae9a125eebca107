"""Which dtypes a document can name, and what stands in a file for the others."""

from __future__ import annotations

# code: (name of the dtype, bytes of an element)
DTYPES = {
    1: ("uint8", 1),
    2: ("int8", 1),
    3: ("int16", 2),
    4: ("int32", 4),
    5: ("int64", 8),
    6: ("float16", 2),
    7: ("float32", 4),
    8: ("float64", 8),
    9: ("complex32", 4),
    10: ("complex64", 8),
    11: ("complex128", 16),
    12: ("bool", 1),
    13: ("bfloat16", 2),
    28: ("uint16", 2),
    29: ("float8_e4m3fn", 1),
    30: ("float8_e5m2", 1),
    31: ("float8_e4m3fnuz", 1),
    32: ("float8_e5m2fnuz", 1),
    33: ("float8_e8m0fnu", 1),
    34: ("uint32", 4),
    35: ("uint64", 8),
}
# The names that every supported torch reads; the first release of these (2.11) ends with this code.
_OLDEST = 32
ORDINARY = frozenset(name for code, (name, _) in DTYPES.items() if code <= _OLDEST)

# What a torch may not be able to name in a file: the dtype of the same width that its bytes are kept as.
STAND_INS = {
    "float4_e2m1fn_x2": "uint8",
    "float8_e8m0fnu": "uint8",
    "uint32": "int32",
    "uint64": "int64",
    **{f"{sign}int{bits}": "uint8" for sign in ("", "u") for bits in range(1, 8)},
    **dict.fromkeys(("bits8", "bits1x8", "bits2x4", "bits4x2"), "uint8"),
    "bits16": "int16",
}
