"""A reader for the archive's pickles that builds inert data only and never imports or calls anything."""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

MAX_OPCODES = 2_000_000
MAX_DEPTH = 100

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
    "BoolStorage": ("bool", 1),
    "ComplexFloatStorage": ("complex64", 8),
    "ComplexDoubleStorage": ("complex128", 16),
    "QInt8Storage": ("qint8", 1),
    "QUInt8Storage": ("quint8", 1),
    "QInt32Storage": ("qint32", 4),
}


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


@dataclass(eq=False)
class TensorRef:
    """A strided tensor in a storage; ``quantized`` where its elements need a scale to be read."""

    storage: StorageRef
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]
    requires_grad: bool
    quantized: bool = False


@dataclass(frozen=True)
class DeviceRef:
    """A device by name."""

    name: str


@dataclass(frozen=True)
class EnumRef:
    """A value of an enumeration of the archive."""

    cls: str
    value: Any


@dataclass(frozen=True)
class _Function:
    """A global that may be named; ``build`` makes inert data of its arguments."""

    name: str
    build: Callable[..., Any]


def _integers(values: Any, what: str) -> tuple[int, ...]:
    if type(values) is not tuple or len(values) > 64 or any(type(v) is not int or v < 0 for v in values):
        raise Refused(f"the {what} of a tensor is not a tuple of whole numbers")
    return values


def _tensor(storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, *_: Any) -> TensorRef:
    if type(storage) is not StorageRef or type(offset) is not int or offset < 0:
        raise Refused("a tensor does not lie in a storage")
    size, stride = _integers(size, "size"), _integers(stride, "stride")
    if len(size) != len(stride):
        raise Refused("a tensor has more sizes than strides")
    span = 0 if 0 in size else 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if span and offset + span > storage.numel:
        raise Refused(f"a tensor reaches beyond its storage {storage.key!r}")
    return TensorRef(storage, offset, size, stride, requires_grad is True)


def _quantized(storage: Any, offset: Any, size: Any, stride: Any, *_: Any) -> TensorRef:
    tensor = _tensor(storage, offset, size, stride, False)
    tensor.quantized = True
    return tensor


def _parameter(data: Any, requires_grad: Any, *_: Any) -> TensorRef:
    if type(data) is not TensorRef:
        raise Refused("a parameter is not made of a tensor")
    return TensorRef(data.storage, data.offset, data.size, data.stride, requires_grad is True)


def _list(values: Any, *_: Any) -> list[Any]:
    if type(values) is not list:
        raise Refused("a typed list is not made of a list")
    return values


def _tagged(value: Any, _type: Any) -> Any:
    return value


def _device(name: Any) -> DeviceRef:
    if type(name) is not str:
        raise Refused("a device has no name")
    return DeviceRef(name)


def _ordered() -> dict[Any, Any]:
    return {}


def _complex(real: Any, imaginary: Any) -> complex:
    if type(real) is not float or type(imaginary) is not float:
        raise Refused("a complex number is not made of two numbers")
    return complex(real, imaginary)


_FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_qtensor"): _quantized,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    ("torch.jit._pickle", "build_intlist"): _list,
    ("torch.jit._pickle", "build_tensorlist"): _list,
    ("torch.jit._pickle", "build_doublelist"): _list,
    ("torch.jit._pickle", "build_boollist"): _list,
    ("torch.jit._pickle", "restore_type_tag"): _tagged,
    ("torch", "device"): _device,
    ("collections", "OrderedDict"): _ordered,
    ("builtins", "complex"): _complex,
}
# Names of schemes and element types that stand in the arguments of tensors, as data.
_WORDS = {"per_tensor_affine", "per_channel_affine", "per_channel_affine_float_qparams"}


def _global(argument: str) -> Any:
    module, _, name = argument.partition(" ")
    if module == "__torch__" or module.startswith("__torch__."):
        return ClassRef(f"{module}.{name}")
    if module == "torch" and name in STORAGES:
        return STORAGES[name]
    if module == "torch" and name in _WORDS:
        return name
    build = _FUNCTIONS.get((module, name))
    if build is None:
        raise Refused(f"it names {module[:80]}.{name[:80]}, which no model needs")
    return _Function(f"{module}.{name}", build)


def _storage(saved: Any) -> StorageRef:
    if type(saved) is not tuple or len(saved) not in (5, 6) or saved[0] != "storage":
        raise Refused("a persistent reference is not a storage")
    kind, key, device, numel = saved[1:5]
    if kind not in STORAGES.values() or type(key) is not str or type(device) is not str:
        raise Refused("a storage has no type or no key")
    if type(numel) is not int or numel < 0 or (len(saved) == 6 and saved[5] is not None):
        raise Refused(f"the storage {key[:80]!r} has no size")
    return StorageRef(kind[0], kind[1], key, device, numel)


_MARK = object()
_SCALARS = {
    "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE",
    "BINSTRING", "SHORT_BINSTRING",
}  # fmt: skip
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_MEMO_PUT = {"BINPUT", "LONG_BINPUT"}
_MEMO_GET = {"BINGET", "LONG_BINGET"}
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


@dataclass
class _Machine:
    """The stack of the pickle's virtual machine; every handler leaves inert data on it."""

    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def pop(self) -> Any:
        value = self.stack.pop()
        if value is _MARK:
            raise Refused("its stack is out of order")
        return value

    def top(self, kind: type) -> Any:
        if type(self.stack[-1]) is not kind:
            raise Refused("its stack is out of order")
        return self.stack[-1]

    def since_mark(self) -> list[Any]:
        for at in range(len(self.stack) - 1, -1, -1):
            if self.stack[at] is _MARK:
                values = self.stack[at + 1 :]
                del self.stack[at:]
                return values
        raise Refused("its stack is out of order")

    def set_items(self, pairs: list[Any]) -> None:
        target = self.top(dict)
        if len(pairs) % 2:
            raise Refused("a dictionary lacks a value")
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            if type(key) not in (str, int, float, bool, complex, TensorRef):
                raise Refused("a dictionary has a key that TorchScript does not allow")
            target[key] = value

    def reduce(self) -> Any:
        arguments, function = self.pop(), self.pop()
        if type(function) is ClassRef and type(arguments) in (int, float, str):
            return EnumRef(function.name, arguments)  # an enumeration's value stands without a tuple
        if type(arguments) is not tuple:
            raise Refused("a call has no arguments")
        if type(function) is not _Function:
            raise Refused("it calls something that is no function of the format")
        try:
            return function.build(*arguments)
        except TypeError:
            raise Refused(f"it calls {function.name} with {len(arguments)} arguments") from None

    def new(self) -> Instance:
        arguments, cls = self.pop(), self.pop()
        if type(cls) is not ClassRef or arguments != ():
            raise Refused("it makes an object of something that is no class of the archive")
        return Instance(cls.name)

    def step(self, name: str, argument: Any) -> None:
        push = self.stack.append
        if name in _SCALARS:
            push(argument)
        elif name in _MEMO_PUT:
            if self.stack[-1] is _MARK:
                raise Refused("its stack is out of order")
            self.memo[argument] = self.stack[-1]
        elif name in _MEMO_GET:
            push(self.memo[argument])
        elif name in _CONSTANTS:
            push(_CONSTANTS[name])
        elif name in _TUPLES:
            count = _TUPLES[name]
            push(tuple(reversed([self.pop() for _ in range(count)])))
        elif name == "MARK":
            push(_MARK)
        elif name == "TUPLE":
            push(tuple(self.since_mark()))
        elif name == "EMPTY_LIST":
            push([])
        elif name == "EMPTY_DICT":
            push({})
        elif name == "APPEND":
            value = self.pop()
            self.top(list).append(value)
        elif name == "APPENDS":
            values = self.since_mark()
            self.top(list).extend(values)
        elif name == "SETITEM":
            value, key = self.pop(), self.pop()
            self.set_items([key, value])
        elif name == "SETITEMS":
            self.set_items(self.since_mark())
        elif name == "GLOBAL":
            push(_global(argument))
        elif name == "BINPERSID":
            push(_storage(self.pop()))
        elif name == "REDUCE":
            push(self.reduce())
        elif name == "NEWOBJ":
            push(self.new())
        elif name == "BUILD":
            state = self.pop()
            self.top(Instance).state = state
        else:
            raise Refused(f"it uses the opcode {name}, which the format does not")


def read_pickle(content: bytes) -> Any:
    """The data of a pickle: numbers, texts, containers and the ``*Ref`` classes of this file.

    Raises Refused for anything else: nothing is imported, and nothing of the file is run.
    """
    machine = _Machine()
    count = 0
    try:
        for opcode, argument, _ in pickletools.genops(content):
            count += 1
            if count > MAX_OPCODES:
                raise Refused(f"it has more than {MAX_OPCODES} instructions")
            if opcode.name in ("PROTO", "FRAME"):
                continue
            if opcode.name == "STOP":
                break
            machine.step(opcode.name, argument)
    except (IndexError, KeyError, ValueError, OverflowError) as error:
        raise Refused(f"it is damaged ({type(error).__name__})") from None
    if len(machine.stack) != 1 or machine.stack[0] is _MARK:
        raise Refused("its stack is out of order")
    return machine.stack[0]
