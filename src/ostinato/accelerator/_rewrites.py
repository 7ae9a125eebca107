"""Operators that the stable dispatcher refuses for a Scalar, written as another call with the same result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from ._program import Value

aten = torch.ops.aten
Call = tuple[Any, dict[str, Any], list[Any]]  # operator, its arguments by name, where its results belong


def _pad(arguments: dict[str, Any], results: list[Any]) -> Call | None:
    value = arguments["value"]
    if not isinstance(value, (bool, int, float)) or abs(value) > 2**53:
        return None
    moved = {"self": arguments["self"], "pad": arguments["pad"], "mode": "constant", "value": float(value)}
    return aten.pad.default, moved, results


def _rsub(arguments: dict[str, Any], results: list[Any]) -> Call | None:
    moved = {"self": arguments["other"], "other": arguments["self"], "alpha": arguments["alpha"]}
    return aten.sub.Tensor, moved, results


def _fill(arguments: dict[str, Any], results: list[Any]) -> Call | None:
    target = results[0]
    number = arguments["fill_value"] if "fill_value" in arguments else arguments["s"]
    if not isinstance(target, Value):
        return None
    value = torch.tensor(number, dtype=target.dtype)
    return aten.fill_.Tensor, {"self": target, "value": value}, [None]


def _fill_in_place(arguments: dict[str, Any], results: list[Any]) -> Call | None:
    target = arguments["self"]
    return (
        aten.fill_.Tensor,
        {"self": target, "value": torch.tensor(arguments["value"], dtype=target.dtype)},
        [None],
    )


def _spread(name: str) -> Callable[[dict[str, Any], list[Any]], Call | None]:
    """``var.correction`` as ``var.dim``, which takes a bool where the correction is 0 or 1."""

    def rewrite(arguments: dict[str, Any], results: list[Any]) -> Call | None:
        correction = 1 if arguments["correction"] is None else arguments["correction"]
        if correction not in (0, 1):
            return None
        moved = {
            "self": arguments["self"],
            "dim": arguments["dim"],
            "unbiased": bool(correction),
            "keepdim": arguments["keepdim"],
        }
        return getattr(aten, name).dim, moved, results

    return rewrite


def _norm(arguments: dict[str, Any], results: list[Any]) -> Call | None:
    """The Euclidean norm of all elements as a Frobenius norm, which is named by a string."""
    x = arguments["self"]
    flat = 1
    for size, stride in zip(reversed(x.sizes), reversed(x.strides), strict=True):
        if size != 1 and stride != flat:
            return None
        flat *= size
    if arguments["ord"] != 2 or arguments["dim"] is not None or arguments["keepdim"]:
        return None
    row = dataclasses.replace(x, sizes=(1, flat), strides=(flat, 1))
    moved = {"self": row, "ord": "fro", "dim": [-2, -1], "keepdim": False, "dtype": arguments["dtype"]}
    return aten.linalg_matrix_norm.str_ord, moved, results


REWRITES: dict[str, Callable[[dict[str, Any], list[Any]], Call | None]] = {
    "aten::constant_pad_nd": _pad,
    "aten::rsub.Tensor": _rsub,
    "aten::rsub.Scalar": _rsub,
    "aten::linalg_vector_norm": _norm,
    "aten::full": _fill,
    "aten::full_like": _fill,
    "aten::new_full": _fill,
    "aten::scalar_tensor": _fill,
    "aten::fill_.Scalar": _fill_in_place,
    "aten::var.correction": _spread("var"),
    "aten::std.correction": _spread("std"),
    "aten::var_mean.correction": _spread("var_mean"),
    "aten::std_mean.correction": _spread("std_mean"),
}
