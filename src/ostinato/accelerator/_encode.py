"""Writes a call's arguments as the numbers that the native engine decodes.

The kinds and their payloads are the protocol with ``csrc/graph/arg.h``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from ._program import Value
from ._schema import OpOverload

_NONE, _TENSOR, _INT, _FLOAT, _BOOL, _STRING, _LIST, _SOME, _DTYPE, _LAYOUT, _FORMAT, _DEVICE = range(12)

# What the dispatcher's stable call converts; a schema with anything else is refused by it.
_PLAIN = {"TensorType", "IntType", "FloatType", "BoolType", "StringType", "SymIntType", "SymBoolType"}
_CODES = {"ScalarTypeType", "LayoutType", "MemoryFormatType", "DeviceObjType"}


class Refused(Exception):
    """The native engine has no form for this argument."""


def _kind(type_: Any) -> str:
    return str(type_.kind())


def _convertible(type_: Any) -> bool:
    kind = _kind(type_)
    if kind in ("OptionalType", "ListType"):
        return _convertible(type_.getElementType())
    return kind in _PLAIN or kind in _CODES


@functools.cache
def dispatchable(op: OpOverload) -> bool:
    """Whether the dispatcher's stable call takes every argument and result of ``op``.

    A generator is passed only as None, so that it hinders nothing by itself.
    """
    schema = op._schema
    arguments = [a.real_type for a in schema.arguments if "Generator" not in str(a.type)]
    return all(_convertible(t) for t in arguments) and all(
        _kind(r.type) == "TensorType"
        or (_kind(r.type) == "ListType" and _kind(r.type.getElementType()) == "TensorType")
        for r in schema.returns
    )


class Encoder:
    """Collects one call's arguments; ``slot`` gives the number of a value in the plan."""

    def __init__(self, slot: Callable[[Value], int], number_slot: Callable[[torch.Tensor], int]) -> None:
        self.code: list[int] = []
        self.floats: list[float] = []
        self.texts: list[str] = []
        self._slot = slot
        self._number_slot = number_slot

    def argument(self, type_: Any, value: Any) -> None:
        """Appends ``value`` as the schema's ``type_`` wants it; Refused where there is no such form."""
        kind = _kind(type_)
        if kind == "OptionalType":
            self._optional(type_, value)
        elif kind == "ListType":
            self._list(type_, value)
        elif kind == "TensorType":
            self._tensor(value)
        elif kind in ("IntType", "SymIntType"):
            self._int(value)
        elif kind == "FloatType":
            self._float(value)
        elif kind == "NumberType":
            self._number(value)
        elif kind in ("BoolType", "SymBoolType"):
            self.code += [_BOOL, int(bool(value))]
        elif kind == "StringType":
            self._text(_STRING, value)
        else:
            self._named(kind, value)

    def plain(self, value: Any) -> None:
        """Appends an argument of a FusedNode, which has no schema: it is what it looks like."""
        if value is None:
            self.code.append(_NONE)
        elif isinstance(value, (list, tuple)):
            self.code += [_LIST, len(value)]
            for item in value:
                self.plain(item)
        elif isinstance(value, bool):
            self.code += [_BOOL, int(value)]
        elif isinstance(value, int):
            self._int(value)
        elif isinstance(value, float):
            self._float(value)
        elif isinstance(value, str):
            self._text(_STRING, value)
        else:
            self._tensor(value)

    def _optional(self, type_: Any, value: Any) -> None:
        if value is None:
            self.code.append(_NONE)
        else:
            self.code.append(_SOME)
            self.argument(type_.getElementType(), value)

    def _list(self, type_: Any, value: Any) -> None:
        element = type_.getElementType()
        if not isinstance(value, (list, tuple)):
            value = [value]  # a schema's `int[1]` takes a bare number
        self.code += [_LIST, len(value)]
        for item in value:
            self.argument(element, item)

    def _tensor(self, value: Any) -> None:
        if isinstance(value, Value):
            self.code += [_TENSOR, self._slot(value)]
        elif isinstance(value, torch.Tensor):
            self.code += [_TENSOR, self._number_slot(value)]
        else:
            raise Refused(f"{type(value).__name__} for a tensor")

    def _int(self, value: Any) -> None:
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            self._named(type(value).__name__, value)
        elif isinstance(value, (bool, int)):
            if not -(2**63) <= value < 2**63:
                raise Refused("an integer beyond 64 bits")
            self.code += [_INT, int(value)]
        else:
            raise Refused(f"{type(value).__name__} for an integer")

    def _float(self, value: Any) -> None:
        if not isinstance(value, (bool, int, float)):
            raise Refused(f"{type(value).__name__} for a float")
        self.code += [_FLOAT, len(self.floats)]
        self.floats.append(float(value))

    def _number(self, value: Any) -> None:
        """A Scalar: only the C shims and our own kernels take one."""
        if isinstance(value, (bool, int)):
            self._int(value)
        else:
            self._float(value)

    def _text(self, kind: int, value: str) -> None:
        if not isinstance(value, str):
            raise Refused(f"{type(value).__name__} for a string")
        self.code += [kind, len(self.texts)]
        self.texts.append(value)

    def _named(self, kind: str, value: Any) -> None:
        name = str(value).removeprefix("torch.")
        codes = {
            "ScalarTypeType": _DTYPE,
            "dtype": _DTYPE,
            "LayoutType": _LAYOUT,
            "layout": _LAYOUT,
            "MemoryFormatType": _FORMAT,
            "memory_format": _FORMAT,
            "DeviceObjType": _DEVICE,
        }
        if kind == "GeneratorType" and value is None:
            self.code.append(_NONE)
        elif kind in codes and isinstance(value, int):  # a schema's own default is the number behind the name
            self._int(value)
        elif kind not in codes:
            raise Refused(f"an argument of {kind}")
        else:
            self._text(codes[kind], name)
