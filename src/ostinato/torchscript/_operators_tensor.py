"""Operators on tensors whose arguments torch's own bindings do not take as TorchScript writes them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ._operators_letters import index_of
from ._operators_prim import as_device, as_dtype, as_memory_format, code_of

_VARIABLE: Any = torch._C._VariableFunctions

_ALL = (slice(None),) * 64


def size(x: Tensor, dim: int | None = None) -> Any:
    """The sizes as a list, or one of them."""
    return list(x.shape) if dim is None else x.size(dim)


def length(x: Any) -> Any:
    """The number of elements along the first dimension."""
    return x.size(0) if isinstance(x, Tensor) else len(x)


def slice_(x: Any, *args: Any) -> Any:
    """``x[start:end:step]``: of a tensor along ``dim``, which comes first, or of a list or text."""
    if not isinstance(x, Tensor):
        return x[_slice(*args)]
    dim = args[0] if args else 0
    if dim < 0:
        dim += x.dim()
    # Indexing is several times cheaper than the operator of torch.ops, and is the same operator.
    return x[(*_ALL[:dim], _slice(*args[1:]))]


def _slice(start: Any = None, end: Any = None, step: Any = None) -> slice:
    return slice(start, end, step)


def select(x: Any, *args: Any) -> Any:
    """One element along a dimension of a tensor, or of a list."""
    return x.select(*args) if isinstance(x, Tensor) else x[args[0]]


def index(x: Any, *args: Any) -> Any:
    """A tensor at tensors of indices (None takes all), or the place of a value in a list or text."""
    if isinstance(x, Tensor):
        return torch.ops.aten.index.Tensor(x, args[0])
    return index_of(x, *args) if isinstance(x, str) else x.index(*args)


def _index_put(x: Tensor, places: list[Any], values: Tensor, accumulate: bool = False) -> Any:
    return torch.ops.aten.index_put.default(x, places, values, accumulate)


def _index_put_(x: Tensor, places: list[Any], values: Tensor, accumulate: bool = False) -> Any:
    return torch.ops.aten.index_put_.default(x, places, values, accumulate)


def to(x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """A conversion; element types and memory formats are integers in TorchScript."""
    if args and isinstance(args[0], Tensor):
        args = (args[0].device, code_of(args[0].dtype), *args[1:])
    names = ["device", "dtype", "non_blocking", "copy", "memory_format"]
    if args and isinstance(args[0], (int, torch.dtype)) and not isinstance(args[0], bool):
        names = names[1:]
        # to(x, dtype, layout, device, pin_memory, non_blocking, copy, memory_format), traced by old torch
        if len(args) > 2 and not isinstance(args[1], bool):
            names = ["dtype", "layout", "device", "pin_memory", *names[1:]]
    elif len(args) > 1 and isinstance(args[1], bool):  # the overload for a device alone
        names = ["device", *names[2:]]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    given.pop("layout", None)
    given.pop("pin_memory", None)
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


def _stride(x: Tensor, dim: int | None = None) -> Any:
    return list(x.stride()) if dim is None else x.stride(dim)


def _is_contiguous(x: Tensor, memory_format: Any = torch.contiguous_format) -> bool:
    return x.is_contiguous(memory_format=as_memory_format(memory_format))


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


def _broadcast_shapes(*shapes: list[int]) -> list[int]:
    return list(torch.broadcast_shapes(*shapes))


def _is_autocast_enabled() -> bool:
    return torch.is_autocast_enabled("cpu")


def _manual_seed(seed: int) -> None:
    torch.manual_seed(seed)


def _set_grad(enabled: bool) -> None:
    torch.set_grad_enabled(enabled)


def _type_code(a: Any, b: Any) -> int:
    return code_of(torch.result_type(a, b))


def _can_cast(origin: Any, to: Any) -> bool:
    return torch.can_cast(as_dtype(origin), as_dtype(to))


def _promoted(a: Any, b: Any) -> int:
    return code_of(torch.promote_types(as_dtype(a), as_dtype(b)))


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
    "stride": _stride,
    "is_contiguous": _is_contiguous,
    "is_leaf": _attribute("is_leaf"),
    "pin_memory": _here,
    "can_cast": _can_cast,
    "promote_types": _promoted,
    "cpu": _cpu,
    "cuda": _here,
    "warn": _warn,
    "wait": _here,
    "item": _scalar,
    "Int": int,
    "Float": float,
    "Bool": bool,
    "Complex": complex,
    "ComplexImplicit": complex,
    "IntImplicit": int,
    "FloatImplicit": float,
    "ScalarImplicit": _scalar,
    "norm": _norm,
    "element_size": _element_size,
    "where": _where,
    "is_grad_enabled": torch.is_grad_enabled,
    "set_grad_enabled": _set_grad,
    "result_type": _type_code,
    "broadcast_shapes": _broadcast_shapes,
    "is_autocast_enabled": _is_autocast_enabled,
    "is_autocast_cpu_enabled": _is_autocast_enabled,
    "manual_seed": _manual_seed,
    "numpy_T": _attribute("T"),
    "mT": _attribute("mT"),
    "mH": _attribute("mH"),
    "matrix_H": _attribute("H"),
}
