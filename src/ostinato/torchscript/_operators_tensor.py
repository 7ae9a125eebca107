"""Operators on tensors whose arguments torch's own bindings do not take as TorchScript writes them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ._operators_prim import as_device, as_dtype, as_memory_format, code_of

_VARIABLE: Any = torch._C._VariableFunctions


def size(x: Tensor, dim: int | None = None) -> Any:
    """The sizes as a list, or one of them."""
    return list(x.shape) if dim is None else x.size(dim)


def length(x: Any) -> Any:
    """The number of elements along the first dimension."""
    return x.size(0) if isinstance(x, Tensor) else len(x)


def slice_(x: Any, *args: Any) -> Any:
    """``x[start:end:step]``: of a tensor along ``dim``, of a list or text without one."""
    if not isinstance(x, Tensor):
        return x[slice(*args)] if args else x[:]
    return torch.ops.aten.slice.Tensor(x, *args)


def select(x: Any, *args: Any) -> Any:
    """One element along a dimension of a tensor, or of a list."""
    return x.select(*args) if isinstance(x, Tensor) else x[args[0]]


def index(x: Any, *args: Any) -> Any:
    """A tensor at tensors of indices (None takes all), or the place of a value in a list or text."""
    if isinstance(x, Tensor):
        return torch.ops.aten.index.Tensor(x, args[0])
    return x.index(*args)


def _index_put(x: Tensor, places: list[Any], values: Tensor, accumulate: bool = False) -> Any:
    return torch.ops.aten.index_put.default(x, places, values, accumulate)


def _index_put_(x: Tensor, places: list[Any], values: Tensor, accumulate: bool = False) -> Any:
    return torch.ops.aten.index_put_.default(x, places, values, accumulate)


def to(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """A conversion; element types and memory formats are integers in TorchScript."""
    if not args or isinstance(args[0], Tensor):
        return x.to(*args, **kwargs)
    names = ["device", "dtype", "non_blocking", "copy", "memory_format"]
    if isinstance(args[0], int) and not isinstance(args[0], bool):
        names = names[1:]
        # to(x, dtype, layout, device, pin_memory, non_blocking, copy, memory_format), traced by old torch
        if len(args) > 2 and not isinstance(args[1], bool):
            names = ["dtype", "layout", "device", "pin_memory", *names[1:]]
    elif isinstance(args[0], bool) or (args[0] is None and len(args) > 1 and isinstance(args[1], bool)):
        return x  # the overload for a device alone, with no device
    given = dict(zip(names, args, strict=False))
    given.pop("layout", None)
    given.pop("pin_memory", None)
    given.update(kwargs)
    if given.get("dtype") is not None:
        given["dtype"] = as_dtype(given["dtype"])
    if isinstance(given.get("memory_format"), int):
        given["memory_format"] = as_memory_format(given["memory_format"])
    return x.to(**{name: value for name, value in given.items() if value is not None})


def tensor(value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A tensor of a number or of nested lists of numbers."""
    if isinstance(value, Tensor):
        found = value.detach().clone()
        if dtype is not None or device is not None:
            found = found.to(device=device, dtype=dtype)
        return found.requires_grad_(requires_grad)
    return torch.tensor(value, dtype=dtype, device=device, requires_grad=requires_grad)


def _as_tensor(value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    return torch.as_tensor(value, dtype=dtype, device=device)


def old_full(shape: list[int], value: Any, **kwargs: Any) -> Any:
    """``full`` before format 5, which made floats of integers where no type was given."""
    if kwargs.get("dtype") is None:
        value = float(value)
    return _VARIABLE.full(shape, value, **kwargs)


def _view(x: Tensor, shape: Any) -> Any:
    return x.view(as_dtype(shape)) if isinstance(shape, int) else x.view(shape)


def _typed(name: str) -> Callable[..., Any]:
    """``softmax`` and its like, whose third argument is an element type."""
    function = getattr(_VARIABLE, name)

    def call(x: Tensor, dim: int, dtype: Any = None) -> Any:
        return function(x, dim) if dtype is None else function(x, dim, as_dtype(dtype))

    return call


def _contiguous(x: Tensor, memory_format: Any = torch.contiguous_format) -> Any:
    return x.contiguous(memory_format=as_memory_format(memory_format))


def _here(x: Tensor) -> Any:
    # A model saved on another device runs where it is loaded.
    return x


def _cpu(x: Tensor) -> Any:
    return x.cpu()


def _warn(message: str, stacklevel: int = 2) -> None:
    warnings.warn(message, stacklevel=2)


def _scalar(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def _norm(x: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
    if dim is None:
        return _VARIABLE.norm(x, p, **kwargs)
    return _VARIABLE.norm(x, p, dim, keepdim, **kwargs)


def _element_size(x: Tensor) -> int:
    return x.element_size()


def _where(condition: Tensor, *choices: Any) -> Any:
    found = _VARIABLE.where(condition, *choices)
    return found if choices else list(found)


def _set_grad(enabled: bool) -> None:
    torch.set_grad_enabled(enabled)


def _type_code(a: Any, b: Any) -> int:
    return code_of(torch.result_type(a, b))


def _attribute(name: str) -> Callable[[Tensor], Any]:
    def get(x: Tensor) -> Any:
        return getattr(x, name)

    return get


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "size": size,
    "sym_size": size,
    "len": length,
    "slice": slice_,
    "select": select,
    "index": index,
    "index_put": _index_put,
    "index_put_": _index_put_,
    "to": to,
    "device": as_device,
    "tensor": tensor,
    "as_tensor": _as_tensor,
    "view": _view,
    "softmax": _typed("softmax"),
    "log_softmax": _typed("log_softmax"),
    "contiguous": _contiguous,
    "cpu": _cpu,
    "cuda": _here,
    "warn": _warn,
    "wait": _here,
    "item": _scalar,
    "Int": int,
    "Float": float,
    "Bool": bool,
    "IntImplicit": int,
    "FloatImplicit": float,
    "ScalarImplicit": _scalar,
    "norm": _norm,
    "element_size": _element_size,
    "where": _where,
    "is_grad_enabled": torch.is_grad_enabled,
    "set_grad_enabled": _set_grad,
    "result_type": _type_code,
    "numpy_T": _attribute("T"),
    "mT": _attribute("mT"),
    "mH": _attribute("mH"),
    "matrix_H": _attribute("H"),
}
