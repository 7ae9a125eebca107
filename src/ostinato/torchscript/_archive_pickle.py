"""A reader for the archive's pickles that builds inert data only and never imports or calls anything."""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import _archive_data as data
from ._archive_data import SCHEMES, STORAGES, TENSORS, ClassRef, EnumRef, Instance, Refused

MAX_OPCODES = 2_000_000
MAX_DEPTH = 100


@dataclass(frozen=True)
class _Function:
    """A global that may be named; ``build`` makes inert data of its arguments."""

    name: str
    build: Callable[..., Any]


_FUNCTIONS: dict[tuple[str, str], Callable[..., Any]] = {
    ("torch._utils", "_rebuild_tensor_v2"): data.tensor,
    ("torch._utils", "_rebuild_qtensor"): data.quantized,
    ("torch._utils", "_rebuild_sparse_tensor"): data.sparse,
    ("torch._utils", "_rebuild_parameter"): data.parameter,
    ("torch.jit._pickle", "build_intlist"): data.typed_list,
    ("torch.jit._pickle", "build_tensorlist"): data.typed_list,
    ("torch.jit._pickle", "build_doublelist"): data.typed_list,
    ("torch.jit._pickle", "build_boollist"): data.typed_list,
    ("torch.jit._pickle", "restore_type_tag"): data.tagged,
    ("torch", "device"): data.device,
    ("collections", "OrderedDict"): data.ordered,
    ("builtins", "complex"): data.complex_number,
}


def _global(argument: str) -> Any:
    module, _, name = argument.partition(" ")
    if module == "__torch__" or module.startswith("__torch__."):
        return ClassRef(f"{module}.{name}")
    if module == "torch" and name in STORAGES:
        return STORAGES[name]
    if module == "torch" and name in SCHEMES:
        return name
    build = _FUNCTIONS.get((module, name))
    if build is None:
        raise Refused(f"it names {module[:80]}.{name[:80]}, which no model needs")
    return _Function(f"{module}.{name}", build)


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
            if type(key) not in (str, int, float, bool, complex, *TENSORS):
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
            push(data.storage(self.pop()))
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
    """The data of a pickle: numbers, texts, containers and the records of ``_archive_data``.

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
