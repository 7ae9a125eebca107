"""A lite-interpreter archive without code: what its bytecode and its data declare, told without torch.

Bytecode knows attributes by number.  Their names, and the classes of objects in them, stand in the data; a
class that has its own ``__setstate__``, or whose objects are made by the code, has numbers for names.
"""

from __future__ import annotations

import ast
import keyword
from collections import Counter
from typing import Any, Protocol

from .._errors import OstinatoError, fail
from ._archive_bytecode import Argument, Malformed, Method
from ._archive_data import TENSORS, Instance
from ._bytecode_types import named_tuple, parse_type
from ._code import Class, Function
from ._names import PACKED_PREFIX, SILENT

FILE = "bytecode.pkl"


class Container(Protocol):
    """What is asked of the file."""

    @property
    def path(self) -> str: ...
    def damaged(self, what: str) -> OstinatoError: ...


class Lite:
    """The classes of an archive by their full names; the bodies of methods are empty until they are written.

    ``constants`` are what the methods point to and what is no literal.
    """

    def __init__(self, archive: Container, methods: list[Method], instances: list[Instance]) -> None:
        self.archive = archive
        self.written = methods
        self.constants: list[Any] = []
        self._classes: dict[str, Class] = {}
        self._held: dict[str, dict[str, set[str]]] = {}
        try:
            modules = _modules(instances)
            for instance in instances:
                self._declare(instance, "module" if id(instance) in modules else "object")
            for method in methods:
                self._add(method)
        except Malformed as error:
            raise archive.damaged(str(error)) from None

    def find(self, name: str) -> Class | Function | None:
        """The class with this full name."""
        return self._classes.get(name)

    def classes(self) -> list[Class]:
        """Every class."""
        return list(self._classes.values())

    def error(self, file: str, line: int, what: str) -> OstinatoError:
        """The error for bytecode that may not be run; the line is the number of its instruction."""
        return fail("torchscript.syntax", path=self.archive.path, file=file, line=line, what=what)

    def operators(self) -> Counter[str]:
        """The operators that the instructions name, and how often."""
        found: Counter[str] = Counter()
        for method in self.written:
            for opcode, x, _ in method.instructions:
                if opcode in ("OP", "OPN") and 0 <= x < len(method.operators):
                    found[method.operators[x].name] += 1
        return Counter({name: count for name, count in found.items() if name not in SILENT})

    # ---- classes ----

    def _declare(self, instance: Instance, kind: str) -> None:
        state = instance.state if isinstance(instance.state, dict) else {}
        known = self._classes.get(instance.cls)
        if known is None:
            known = self._class(instance.cls, kind)
            known.attributes = {str(key): _attribute(value) for key, value in state.items()}
            tensors = [key for key, value in state.items() if isinstance(value, TENSORS)]
            if kind == "module":  # bytecode does not tell parameters from buffers; their gradients do
                known.parameters = tuple(str(key) for key in tensors if state[key].requires_grad)
                known.buffers = tuple(str(key) for key in tensors if not state[key].requires_grad)
        elif list(known.attributes) != [str(key) for key in state]:
            raise Malformed(f"two objects of {instance.cls[:80]} have different attributes")
        held = self._held.setdefault(instance.cls, {})
        for key, value in state.items():
            told = value.cls if isinstance(value, Instance) else ""
            held.setdefault(str(key), set()).add(told)

    def _class(self, name: str, kind: str) -> Class:
        parts = name.split(".")
        if parts[0] != "__torch__" or not all(part.isidentifier() for part in parts):
            raise Malformed(f"{name[:80]!r} is no class")
        made = self._classes[name] = Class(name, FILE, kind, 0)
        return made

    def _add(self, method: Method) -> None:
        owner = self._classes.get(method.owner) or self._class(method.owner, "object")
        owner.methods[method.name] = Function(f"{method.owner}.{method.name}", FILE, _stub(method))

    # ---- what a body asks for ----

    def made(self, cls: str) -> str:
        """The class of objects that the code makes."""
        if cls.startswith(PACKED_PREFIX):
            raise Malformed(f"it makes an object of {cls[:80]}, a class of C++ code")
        if cls not in self._classes:
            self._class(cls, "object")
        return cls

    def attribute(self, cls: str | None, slot: int) -> str:
        """The name of an attribute by its number."""
        declared = None if cls is None else self._classes.get(cls)
        if declared is None:
            raise Malformed("it uses an attribute of an object whose class it does not tell")
        names = list(declared.attributes)
        if not 0 <= slot < (len(names) if cls in self._held and names else 256):
            raise Malformed(f"{declared.name[:80]} has no attribute {slot}")
        if cls in self._held and slot < len(names) and not names[slot].startswith("slot_"):
            return names[slot]
        declared.attributes.setdefault(f"slot_{slot}", ast.Name(id="Any", ctx=ast.Load()))
        return f"slot_{slot}"

    def class_of(self, cls: str | None, slot: int) -> str | None:
        """The class of the objects in an attribute, where it is the same for all."""
        found = self._held.get(cls or "", {}).get(self.attribute(cls, slot), {""})
        return next(iter(found)) or None if len(found) == 1 else None

    def constant(self, value: Any) -> ast.expr:
        """A constant as a literal, or as one of those that the archive keeps."""
        if isinstance(value, str):  # as archives write texts: a character for each byte
            return ast.Constant(value=value.encode("utf-8", "replace").decode("latin-1"))
        if value is None or isinstance(value, (bool, int)):
            return ast.Constant(value=value)
        if isinstance(value, float) and abs(value) < float("inf"):
            return ast.Constant(value=value)
        self.constants.append(value)
        return ast.Attribute(
            value=ast.Name(id="CONSTANTS", ctx=ast.Load()), attr=f"c{len(self.constants) - 1}"
        )

    def tuple_class(self, kind: str) -> ast.expr:
        """The named tuple of a type's text, which tells its fields."""
        found = named_tuple(kind)
        if found is None:
            raise Malformed(f"{kind[:80]!r} is no named tuple")
        name, fields = found
        known = self._classes.get(name) or self._class(name, "namedtuple")
        kinds: dict[str, ast.expr] = {each: ast.Name(id="Any", ctx=ast.Load()) for each in fields}
        if known.kind != "namedtuple" or (known.attributes and list(known.attributes) != fields):
            raise Malformed(f"{name[:80]} is declared in two ways")
        known.attributes = kinds
        return parse_type(name)


def _modules(instances: list[Instance]) -> set[int]:
    """The identities of what hangs on the root as a submodule does: attributes of attributes."""
    found = {id(instances[0])} if instances else set()
    for instance in instances:
        if id(instance) in found and isinstance(instance.state, dict):
            found |= {id(each) for each in instance.state.values() if isinstance(each, Instance)}
    return found


def _attribute(value: Any) -> ast.expr:
    return ast.Name(id="Tensor" if isinstance(value, TENSORS) else "Any", ctx=ast.Load())


def _stub(method: Method) -> ast.FunctionDef:
    """The method with its arguments, and nothing in it."""
    arguments = method.arguments
    if arguments is None:  # the first instruction stores what is given
        opcode, _, count = method.instructions[0]
        count = count if opcode == "STOREN" and 0 < count < 256 else 1
        arguments = tuple(Argument("self" if at == 0 else f"x{at}", "Any", None) for at in range(count))
    if not arguments:
        raise Malformed(f"{method.name} has no self")
    names = [each.name if each.name.isidentifier() else f"x{at}" for at, each in enumerate(arguments)]
    if len(set(names)) < len(names) or any(keyword.iskeyword(each) for each in names):
        raise Malformed(f"the arguments of {method.name} have no names")
    made = [
        ast.arg(arg=known, annotation=_kind(each.type)) for known, each in zip(names, arguments, strict=True)
    ]
    spec = ast.arguments(
        posonlyargs=[], args=made, kwonlyargs=[], kw_defaults=[], defaults=_defaults(arguments)
    )
    returns = None if method.returns is None else _kind(method.returns)
    node = ast.FunctionDef(name=method.name, args=spec, body=[ast.Pass()], decorator_list=[], returns=returns)
    return ast.fix_missing_locations(node)


def _kind(text: str) -> ast.expr:
    """A type for people to read; of those that have no text in code, its first word."""
    try:
        return parse_type(text)
    except Malformed:
        return ast.Name(id="Any", ctx=ast.Load())


def _defaults(arguments: tuple[Argument, ...]) -> list[ast.expr]:
    """Bytecode writes None for no default, which only the last arguments of optional types can mean."""
    made: list[ast.expr] = []
    for each in reversed(arguments[1:]):
        if each.default is None and not each.type.startswith("Optional"):
            break
        made.append(_literal(each.default))
    return made[::-1]


def _literal(value: Any) -> ast.expr:
    if isinstance(value, (list, tuple)):
        parts = [_literal(each) for each in value]
        kind = ast.List if isinstance(value, list) else ast.Tuple
        return kind(elts=parts, ctx=ast.Load())
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise Malformed("an argument has a default that is no literal")
    if isinstance(value, float) and not abs(value) < float("inf"):
        number: ast.expr = ast.Name(id="nan" if value != value else "inf", ctx=ast.Load())
        return ast.UnaryOp(op=ast.USub(), operand=number) if value < 0 else number
    return ast.Constant(value=value)
