"""Primitives: conversions between numbers and tensors, properties of tensors, types and exceptions."""

from __future__ import annotations

import builtins
from typing import Any

import torch
from torch import Tensor

from ._operators_text import text

# An element type is an integer in TorchScript; its place in this list is that integer.
_DTYPES = [
    torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32,
    torch.float64, torch.complex32, torch.complex64, torch.complex128, torch.bool, torch.qint8,
    torch.quint8, torch.qint32, torch.bfloat16, torch.quint4x2, torch.quint2x4, torch.bits1x8, torch.bits2x4,
    torch.bits4x2, torch.bits8, torch.bits16, torch.float8_e5m2, torch.float8_e4m3fn, torch.float8_e5m2fnuz,
    torch.float8_e4m3fnuz, torch.uint16, torch.uint32, torch.uint64,
]  # fmt: skip
_CODES = {dtype: code for code, dtype in enumerate(_DTYPES)}
_FORMATS = [torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d]
_TORCH: Any = torch
_LAYOUTS = [
    torch.strided, torch.sparse_coo, torch.sparse_csr, _TORCH._mkldnn, torch.sparse_csc, torch.sparse_bsr,
    torch.sparse_bsc, torch.jagged,
]  # fmt: skip
EXCEPTIONS = (
    "ArithmeticError",
    "AssertionError",
    "AttributeError",
    "EOFError",
    "Exception",
    "IndexError",
    "KeyError",
    "LookupError",
    "NameError",
    "NotImplementedError",
    "OSError",
    "OverflowError",
    "RuntimeError",
    "StopIteration",
    "TimeoutError",
    "TypeError",
    "UnicodeError",
    "ValueError",
    "ZeroDivisionError",
)


def as_dtype(code: Any) -> Any:
    """The element type with this integer; None and element types stay as they are."""
    return _DTYPES[code] if isinstance(code, int) else code


def code_of(dtype: torch.dtype) -> int:
    """The integer of an element type."""
    return _CODES[dtype]


def as_memory_format(code: Any) -> Any:
    """The memory format with this integer; None and memory formats stay as they are."""
    return _FORMATS[code] if isinstance(code, int) else code


def as_layout(code: Any) -> Any:
    """The layout with this integer; None and layouts stay as they are."""
    return _LAYOUTS[code] if isinstance(code, int) else code


def as_device(device: Any) -> Any:
    """A device; one that the code names becomes the CPU, where the archive is loaded."""
    return torch.device("cpu") if isinstance(device, str) else device


def dtype(x: Tensor) -> int:
    """The integer of a tensor's element type."""
    return _CODES[x.dtype]


def integer(x: Any) -> Any:
    """``int(x)``, of symbolic sizes too."""
    if isinstance(x, (torch.SymInt, torch.SymFloat)):
        return torch.sym_int(x)
    return int(x)


def real(x: Any) -> Any:
    """``float(x)``, of symbolic sizes too."""
    if isinstance(x, (torch.SymInt, torch.SymFloat)):
        return torch.sym_float(x)
    return float(x)


def number_to_tensor(x: Any) -> Any:
    """A number as a tensor without dimensions."""
    if isinstance(x, torch.SymInt):
        return torch.ops.aten.scalar_tensor.default(x, dtype=torch.int64)
    return torch.scalar_tensor(x, dtype=_NUMBERS[type(x)])


_NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


def tensor_to_number(x: Any) -> Any:
    """The number in a tensor of one element."""
    return x.item() if isinstance(x, Tensor) else x


def raise_exception(message: str, kind: str = "builtins.RuntimeError") -> None:
    """Raises what the model's author raised, where it is one of Python's own exceptions."""
    name = kind.rpartition(".")[2]
    cls = getattr(builtins, name) if name in EXCEPTIONS else RuntimeError
    raise cls(message)


def _unwrap(x: Any) -> Any:
    if x is None:
        raise RuntimeError("an optional value that has to be there is None")
    return x


def _wrap(x: Any) -> Any:
    return x


def _least(*values: Any) -> Any:
    return min(*values)


def _most(*values: Any) -> Any:
    return max(*values)


def _data(x: Tensor) -> Tensor:
    # detach, since a tracer does not see the attribute
    return x.detach()


def _shape(x: Tensor) -> list[int]:
    return list(x.shape)


def _layout(x: Tensor) -> int:
    return _LAYOUTS.index(x.layout)


def _call(function: Any) -> Any:
    # A fork may run at once: its result is only read by wait.
    return function()


def _record(*told: Any) -> bool:
    return True


def _recorded(record: Any, future: Any) -> Any:
    return future


def _submodule(values: Any, key: Any) -> Any:
    if not isinstance(values, torch.nn.Module):
        return values[key]
    return values._modules[key] if isinstance(key, str) else list(values._modules.values())[key]


def _range_list(stop: int) -> list[int]:
    return list(range(stop))


def _print(*values: Any) -> None:
    print(*map(text, values))


def _index(device: torch.device) -> int | None:
    return device.index


def _type(device: torch.device) -> str:
    return device.type


def _matches(value: Any, kind: Any) -> bool:
    if isinstance(kind, type):
        return isinstance(value, kind)
    if isinstance(kind, str):
        cls = _TYPES[kind]
        return isinstance(value, cls) and not (isinstance(value, bool) and kind in ("int", "number"))
    name, *parts = kind
    if name == "Optional":
        return value is None or _matches(value, parts[0])
    if name == "List":
        return isinstance(value, list) and all(_matches(each, parts[0]) for each in value)
    if name == "Dict":
        return isinstance(value, dict) and all(
            _matches(key, parts[0]) and _matches(item, parts[1]) for key, item in value.items()
        )
    return isinstance(value, tuple) and len(value) == len(parts) and all(map(_matches, value, parts))


_TYPES: dict[str, Any] = {
    "Tensor": Tensor,
    "int": (int, torch.SymInt),
    "float": (float, torch.SymFloat),
    "number": (int, float, complex),
    "complex": complex,
    "bool": bool,
    "str": str,
    "NoneType": type(None),
    "Device": torch.device,
    "list": list,
    "tuple": tuple,
}


def is_instance(value: Any, kinds: tuple[Any, ...]) -> bool:
    """Whether a value is of one of the types: words, classes, or tuples of a container and its parts."""
    return any(_matches(value, kind) for kind in kinds)


def _tolist(x: Any) -> Any:
    return x.tolist()


def _set_item(values: Any, key: Any, value: Any) -> None:
    values[key] = value


def _property(name: str) -> Any:
    def get(x: Tensor) -> Any:
        return getattr(x, name)

    return get


PROPERTIES = (
    "device",
    "requires_grad",
    "is_cuda",
    "is_cpu",
    "is_meta",
    "is_sparse",
    "is_quantized",
    "is_mkldnn",
    "is_mps",
    "is_xpu",
    "is_nested",
    "grad",
    "ndim",
    "itemsize",
    "nbytes",
    "T",
    "mT",
    "H",
    "mH",
    "is_leaf",
    "is_xla",
    "is_ipu",
    "is_vulkan",
    "is_mtia",
    "is_sparse_csr",
    "name",
)

FUNCTIONS: dict[str, Any] = {
    **{name: _property(name) for name in PROPERTIES},
    "data": _data,
    "dtype": dtype,
    "shape": _shape,
    "layout": _layout,
    "index": _index,
    "type": _type,
    "min": _least,
    "max": _most,
    "abs": abs,
    "int": integer,
    "float": real,
    "bool": bool,
    "complex": complex,
    "str": text,
    "range": range,
    "rangelist": _range_list,
    "id": id,
    "submodule": _submodule,
    "record": _record,
    "recorded": _recorded,
    "print": _print,
    "NumToTensor": number_to_tensor,
    "ImplicitTensorToNum": tensor_to_number,
    "RaiseException": raise_exception,
    "unchecked_unwrap_optional": _unwrap,
    "unchecked_cast": _wrap,
    "isinstance": is_instance,
    "fork": _call,
    "tolist": _tolist,
    "set_item": _set_item,
    "as_dtype": as_dtype,
    "as_layout": as_layout,
    "as_memory_format": as_memory_format,
    "as_device": as_device,
}
