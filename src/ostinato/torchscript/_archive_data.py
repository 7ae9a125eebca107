"""The inert records that an archive's pickles become: objects, tensors, devices and values of enumerations.

Every record is checked when it is made: a tensor lies within its storage, and numbers are numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

# torch's names of storage types → (dtype, bytes an element)
STORAGES = {
    "DoubleStorage": ("float64", 8),
    "FloatStorage": ("float32", 4),
    "HalfStorage": ("float16", 2),
    "BFloat16Storage": ("bfloat16", 2),
    "LongStorage": ("int64", 8),
    "IntStorage": ("int32", 4),
    "ShortStorage": ("int16", 2),
    "CharStorage": ("int8", 1),
    "ByteStorage": ("uint8", 1),
    "UInt16Storage": ("uint16", 2),
    "UInt32Storage": ("uint32", 4),
    "UInt64Storage": ("uint64", 8),
    "BoolStorage": ("bool", 1),
    "ComplexHalfStorage": ("complex32", 4),
    "ComplexFloatStorage": ("complex64", 8),
    "ComplexDoubleStorage": ("complex128", 16),
    "Float8_e5m2Storage": ("float8_e5m2", 1),
    "Float8_e4m3fnStorage": ("float8_e4m3fn", 1),
    "Float8_e5m2fnuzStorage": ("float8_e5m2fnuz", 1),
    "Float8_e4m3fnuzStorage": ("float8_e4m3fnuz", 1),
    "QInt8Storage": ("qint8", 1),
    "QUInt8Storage": ("quint8", 1),
    "QInt32Storage": ("qint32", 4),
    "QUInt4x2Storage": ("quint4x2", 1),
    "QUInt2x4Storage": ("quint2x4", 1),
}
# Elements of these types share a byte: dtype → how many.
PACKED_ELEMENTS = {"quint4x2": 2, "quint2x4": 4}
# Names of schemes that stand in the arguments of quantized tensors, as data.
SCHEMES = {"per_tensor_affine", "per_channel_affine", "per_channel_affine_float_qparams"}
_SPARSE = {1: "coo", 2: "csr"}
_MATH_BITS = {"conj", "neg"}


class Refused(Exception):
    """A pickle that may not be read; its text says why."""


@dataclass(frozen=True)
class ClassRef:
    """The name of a class of the archive."""

    name: str


@dataclass(eq=False)
class Instance:
    """An object of a class of the archive: its name and its state, mostly a dict of attributes."""

    cls: str
    state: Any = None


@dataclass(frozen=True)
class StorageRef:
    """One entry of raw elements; ``device`` is where it lay when it was saved."""

    dtype: str
    itemsize: int
    key: str
    device: str
    numel: int

    @property
    def nbytes(self) -> int:
        """The bytes that the elements take."""
        return -(-self.numel // PACKED_ELEMENTS.get(self.dtype, 1)) * self.itemsize


@dataclass(frozen=True, eq=False)
class Quantizer:
    """How the elements of a quantized tensor are read.

    ``scale`` and ``zero_point`` are numbers, or tensors of one number each along ``axis``.
    """

    scheme: str
    scale: Any
    zero_point: Any
    axis: int = 0


@dataclass(frozen=True, eq=False)
class TensorRef:
    """A strided tensor in a storage; ``bits`` names what its elements are seen through (conj, neg)."""

    storage: StorageRef
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    requires_grad: bool
    quantizer: Quantizer | None = None
    bits: tuple[str, ...] = ()

    @property
    def dtype(self) -> str:
        """The name of the element type."""
        return self.storage.dtype


@dataclass(frozen=True, eq=False)
class SparseRef:
    """A sparse tensor: ``parts`` are indices and values, or row pointers, columns and values."""

    layout: str
    size: tuple[int, ...]
    requires_grad: bool
    parts: tuple[TensorRef, ...]

    @property
    def dtype(self) -> str:
        """The name of the element type."""
        return self.parts[-1].storage.dtype


TENSORS = (TensorRef, SparseRef)


@dataclass(frozen=True)
class DeviceRef:
    """A device by name."""

    name: str


@dataclass(frozen=True)
class EnumRef:
    """A value of an enumeration of the archive."""

    cls: str
    value: Any


# ---- what the pickles' calls make ----


def _integers(values: Any, what: str) -> tuple[int, ...]:
    if type(values) is not tuple or len(values) > 64 or any(type(v) is not int or v < 0 for v in values):
        raise Refused(f"the {what} of a tensor is not a tuple of whole numbers")
    return values


def tensor(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any = None, bits: Any = None
) -> TensorRef:
    """A strided tensor; Refused where it reaches beyond its storage."""
    if type(storage) is not StorageRef or type(offset) is not int or offset < 0:
        raise Refused("a tensor does not lie in a storage")
    size, stride = _integers(size, "size"), _integers(stride, "stride")
    if len(size) != len(stride):
        raise Refused("a tensor has more sizes than strides")
    span = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if span and offset + span > storage.numel:
        raise Refused(f"a tensor reaches beyond its storage {storage.key!r}")
    if bits is not None and (type(bits) is not dict or not bits.keys() <= _MATH_BITS):
        raise Refused("a tensor is seen through something that is neither conj nor neg")
    seen = tuple(sorted(name for name, value in (bits or {}).items() if value is True))
    return TensorRef(storage, offset, size, stride, requires_grad is True, None, seen)


def quantized(storage: Any, offset: Any, size: Any, stride: Any, parameters: Any, *_: Any) -> TensorRef:
    """A quantized tensor with its scales and zero points."""
    made = tensor(storage, offset, size, stride, False)
    if type(parameters) is not tuple or not parameters or parameters[0] not in SCHEMES:
        raise Refused("a quantized tensor has no scheme")
    if parameters[0] == "per_tensor_affine" and len(parameters) == 3:
        scale, zero = parameters[1:]
        if type(scale) is not float or not math.isfinite(scale) or type(zero) is not int:
            raise Refused("a quantized tensor has no scale or no zero point")
        return replace(made, quantizer=Quantizer(parameters[0], scale, zero))
    if parameters[0] != "per_tensor_affine" and len(parameters) == 4:
        scales, zeros, axis = parameters[1:]
        if type(axis) is not int or not 0 <= axis < len(made.size):
            raise Refused("a quantized tensor has no axis")
        for each in (scales, zeros):
            plain = type(each) is TensorRef and each.quantizer is None and not each.bits
            if not plain or each.size != (made.size[axis],):
                raise Refused("a quantized tensor has not one scale and zero point a channel")
        return replace(made, quantizer=Quantizer(parameters[0], scales, zeros, axis))
    raise Refused("a quantized tensor has a scheme without its numbers")


def sparse(layout: Any, size: Any, requires_grad: Any, *parts: Any) -> SparseRef:
    """A sparse tensor of its indices and values."""
    parts = parts[:-1]  # the last are hooks, of which there are none
    kind = _SPARSE.get(layout) if type(layout) is int else None
    plain = all(type(each) is TensorRef and each.quantizer is None for each in parts)
    if kind is None or not plain or len(parts) != {"coo": 2, "csr": 3}[kind]:
        raise Refused("a sparse tensor has a layout or parts that are not known")
    return SparseRef(kind, _integers(size, "size"), requires_grad is True, parts)


def parameter(data: Any, requires_grad: Any, *_: Any) -> TensorRef | SparseRef:
    """A parameter, which is its tensor."""
    if not isinstance(data, TENSORS):
        raise Refused("a parameter is not made of a tensor")
    return replace(data, requires_grad=requires_grad is True)


def typed_list(values: Any, *_: Any) -> list[Any]:
    """A list whose type stands beside it."""
    if type(values) is not list:
        raise Refused("a typed list is not made of a list")
    return values


def tagged(value: Any, _type: Any) -> Any:
    """A value whose type stands beside it."""
    return value


def device(name: Any) -> DeviceRef:
    """A device."""
    if type(name) is not str:
        raise Refused("a device has no name")
    return DeviceRef(name)


def ordered() -> dict[Any, Any]:
    """The hooks of a tensor: an empty dictionary."""
    return {}


def complex_number(real: Any, imaginary: Any) -> complex:
    """A complex number."""
    if type(real) is not float or type(imaginary) is not float:
        raise Refused("a complex number is not made of two numbers")
    return complex(real, imaginary)


def storage(saved: Any) -> StorageRef:
    """A storage, which a persistent reference names."""
    if type(saved) is not tuple or len(saved) not in (5, 6) or saved[0] != "storage":
        raise Refused("a persistent reference is not a storage")
    kind, key, place, numel = saved[1:5]
    if kind not in STORAGES.values() or type(key) is not str or type(place) is not str:
        raise Refused("a storage has no type or no key")
    if type(numel) is not int or numel < 0 or (len(saved) == 6 and saved[5] is not None):
        raise Refused(f"the storage {key[:80]!r} has no size")
    return StorageRef(kind[0], kind[1], key, place, numel)
