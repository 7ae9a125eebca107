"""Operators on lists, dictionaries and texts, some of which have a namesake on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ._operators_letters import occurrences
from ._operators_text import format_percent, format_text, text

_VARIABLE: Any = torch._C._VariableFunctions


def append(values: list[Any], value: Any) -> list[Any]:
    """Appends in place and, as TorchScript does, gives the list."""
    values.append(value)
    return values


def _extend(values: list[Any], more: Any) -> None:
    values.extend(more)


def _insert(values: list[Any], at: int, value: Any) -> None:
    values.insert(at, value)


def _pop(values: Any, *args: Any) -> Any:
    return values.pop(*args)


def _remove(values: list[Any], value: Any) -> None:
    values.remove(value)


def _reverse(values: list[Any]) -> None:
    values.reverse()


def _clear(values: Any) -> None:
    values.clear()


def _set_item(values: Any, key: Any, value: Any) -> Any:
    values[key] = value
    return values


def _get_item(values: Any, key: Any) -> Any:
    return values[key]


def _delete(values: Any, key: Any) -> None:
    del values[key]


def _count(values: Any, *args: Any) -> Any:
    return occurrences(values, *args) if isinstance(values, str) else values.count(*args)


def _copy(values: Any, *args: Any) -> Any:
    return values.copy()


def _list(values: Any) -> list[Any]:
    return list(values)


def _dict(*pairs: Any) -> dict[Any, Any]:
    return dict(*pairs)


def _keys(values: dict[Any, Any]) -> list[Any]:
    return list(values.keys())


def _values(values: Any) -> Any:
    return values.values() if isinstance(values, Tensor) else list(values.values())


def _items(values: dict[Any, Any]) -> list[Any]:
    return list(values.items())


def _get(values: dict[Any, Any], key: Any, default: Any = None) -> Any:
    return values.get(key, default)


def _setdefault(values: dict[Any, Any], key: Any, default: Any) -> Any:
    return values.setdefault(key, default)


def _update(values: dict[Any, Any], more: Any) -> None:
    values.update(more)


def _popitem(values: dict[Any, Any]) -> Any:
    return values.popitem()


def _sort(values: Any, *args: Any, **kwargs: Any) -> Any:
    if isinstance(values, Tensor):
        return _VARIABLE.sort(values, *args, **kwargs)
    values.sort(reverse=bool(args and args[0]))
    return None


def _sorted(values: list[Any], reverse: bool = False) -> list[Any]:
    return sorted(values, reverse=reverse)


def _add_(a: Any, b: Any, **kwargs: Any) -> Any:
    if isinstance(a, list):
        a.extend(b)
        return a
    return a.add_(b, **kwargs)


def _mul_(a: Any, b: Any) -> Any:
    if isinstance(a, list):
        a[:] = a * b
        return a
    return a.mul_(b)


def _split(value: Any, *args: Any) -> Any:
    if isinstance(value, Tensor):
        return list(_VARIABLE.split(value, *args))
    return value.split(*args)


def _text(method: str) -> Callable[..., Any]:
    found = getattr(str, method)

    def call(text: str, *args: Any) -> Any:
        return found(text, *args)

    return call


def _join(separator: str, parts: list[str]) -> str:
    return separator.join(parts)


def _identity_of(value: Any) -> int:
    return hash(value)


def _range_length(start: int, stop: int, step: int) -> int:
    if step == 0:
        raise ValueError("range() arg 3 must not be zero")
    if step > 0:
        return 0 if stop <= start else 1 + (stop - 1 - start) // step
    return 0 if stop >= start else 1 + (start - 1 - stop) // -step


def _derive_index(index: int, start: int, step: int) -> int:
    return start + index * step


_METHODS = ("ljust", "rjust", "partition", "rpartition", "replace")

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _text(name) for name in _METHODS},
    "append": append,
    "extend": _extend,
    "insert": _insert,
    "pop": _pop,
    "remove": _remove,
    "reverse": _reverse,
    "clear": _clear,
    "_set_item": _set_item,
    "__getitem__": _get_item,
    "Delete": _delete,
    "count": _count,
    "copy": _copy,
    "list": _list,
    "dict": _dict,
    "keys": _keys,
    "values": _values,
    "items": _items,
    "get": _get,
    "setdefault": _setdefault,
    "update": _update,
    "popitem": _popitem,
    "sort": _sort,
    "sorted": _sorted,
    "add_": _add_,
    "mul_": _mul_,
    "split": _split,
    "join": _join,
    "str": text,
    "format": format_text,
    "percentFormat": format_percent,
    "ord": ord,
    "chr": chr,
    "hex": hex,
    "oct": oct,
    "bin": bin,
    "hash": _identity_of,
    "__range_length": _range_length,
    "__derive_index": _derive_index,
}
