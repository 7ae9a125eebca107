"""Which operators a file may name."""

from __future__ import annotations

import re
from typing import Any

from ._types import Bad, shown

_OVERLOAD = re.compile(
    r"torch\.ops\.(aten|prims|ostinato)\.([A-Za-z_]\w{0,127})\.([A-Za-z_]\w{0,127})", re.ASCII
)
_HIGHER_ORDER = re.compile(r"torch\.ops\.higher_order\.(\w{1,64})", re.ASCII)

CONTROL_FLOW = frozenset(
    [
        "cond",
        "while_loop",
        "scan",
        "map_impl",
        "associative_scan",
        "invoke_subgraph",
        "out_dtype",
        "wrap_with_set_grad_enabled",
        "wrap_with_autocast",
    ]
)
_COMPARISON = ("eq", "ne", "le", "ge", "lt", "gt")
_ARITHMETIC = ("neg", "pos", "mul", "add", "sub", "floordiv", "mod", "pow", "truediv")
_BITS = ("and_", "or_", "lshift", "rshift")
_SYMBOLIC = ("not", "int", "float", "ite", "max", "min", "sqrt", "sum")
SHAPE_ARITHMETIC = frozenset(
    [
        *(f"_operator.{name}" for name in (*_COMPARISON, *_ARITHMETIC, *_BITS, "getitem")),
        *(f"torch.sym_{name}" for name in _SYMBOLIC),
        "math.trunc",
    ]
)
# They reach files, the process-wide generator, or memory beyond a tensor's own.
REFUSED = frozenset(
    ["from_file", "save", "manual_seed", "set_", "set_data", "_resize_output", "_resize_output_"]
)
# Ostinato's operators that compute, each with the feature that brings it into being. The others steer graphs
# and optimizers by numbers that only this library may give them.
OWN = {
    **dict.fromkeys(("eigh", "eigvalsh", "eigh_ex"), "linalg"),
    **dict.fromkeys(("mx_quantize", "mx_dequantize", "mx_round", "mx_linear", "mx_linear_rounded"), "mx"),
}
# What `&` and its like call on tensors. All other names with two underscores are Python's, not torch's.
_UNDERSCORED = frozenset(f"__{name}__" for name in ("and", "or", "xor", "lshift", "rshift"))
_DEVICE_WORDS = ("cudnn", "miopen", "mkldnn", "cuda", "cusparselt", "mps_", "_for_cpu", "xpu")


def operator(value: Any) -> None:
    """The target of a node: an operator of torch or Ostinato, control flow, or arithmetic on sizes."""
    if not isinstance(value, str):
        raise Bad(f"{shown(value)} is not the name of an operator")
    if value in SHAPE_ARITHMETIC:
        return
    if match := _HIGHER_ORDER.fullmatch(value):
        if match[1] in CONTROL_FLOW:
            return
    elif match := _OVERLOAD.fullmatch(value):
        if match[2] in REFUSED or (match[1] == "ostinato" and match[2] not in OWN):
            raise Bad(f"the operator {value} reaches beyond the program and is refused")
        plain = not match[2].startswith("__") or match[2] in _UNDERSCORED
        if plain and not match[3].startswith("__"):
            return
    raise Bad(
        f"the operator {shown(value)} is none of aten, prims, ostinato, control flow or arithmetic on sizes",
        hint="custom operators are not read from files; export the model without them",
    )


def unportable(target: str) -> bool:
    """Whether ``target`` ties a program to one device or to this library."""
    if match := _OVERLOAD.fullmatch(target):
        return match[1] == "ostinato" or any(word in match[2] for word in _DEVICE_WORDS)
    return target not in SHAPE_ARITHMETIC and not _HIGHER_ORDER.fullmatch(target)


def feature_of(target: str) -> str | None:
    """The feature of Ostinato's that an operator belongs to, None where it is torch's."""
    match = _OVERLOAD.fullmatch(target)
    return OWN.get(match[2]) if match and match[1] == "ostinato" else None


def schema_name(target: str) -> tuple[str, str] | None:
    """``(namespace::name, overload)`` of an operator with a schema, else None."""
    match = _OVERLOAD.fullmatch(target)
    return (f"{match[1]}::{match[2]}", "" if match[3] == "default" else match[3]) if match else None
