"""The bytecode of a lite-interpreter archive as records, each checked when it is made.

A method is instructions ``(opcode, X, N)`` over a stack and registers, with tables of operators, constants
and types that the instructions point into.  Torch's mobile interpreter is where their meaning is from; here
they are only read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# The versions that torch's own mobile loader takes: pickled ones up to 8, flatbuffers from 9.
VERSIONS = range(3, 10)
MAX_INSTRUCTIONS = 100_000
_TABLES = ("instructions", "operators", "constants", "types", "register_size")
_WHOLE = range(-(2**31), 2**31)


class Malformed(Exception):
    """Bytecode that contradicts itself or the format; the text says how."""


@dataclass(frozen=True)
class Operator:
    """An operator by name and overload; ``count`` arguments are on the stack, all of them where None."""

    name: str
    overload: str
    count: int | None


@dataclass(frozen=True)
class Argument:
    """An argument of a method: its name, the text of its type, its default where there is one."""

    name: str
    type: str
    default: Any


@dataclass(frozen=True)
class Method:
    """One method; ``arguments`` is None where the archive is too old to tell them."""

    owner: str
    name: str
    instructions: tuple[tuple[str, int, int], ...]
    operators: tuple[Operator, ...]
    constants: tuple[Any, ...]
    types: tuple[str, ...]
    arguments: tuple[Argument, ...] | None
    returns: str | None


def method(
    full_name: Any,
    instructions: Any,
    operators: Any,
    constants: Any,
    types: Any,
    arguments: tuple[Argument, ...] | None,
    returns: str | None,
) -> Method:
    """A method of its parts, each of which may be anything that a file holds."""
    owner, dot, name = full_name.rpartition(".") if type(full_name) is str else ("", "", "")
    if not dot or not owner.startswith("__torch__") or not name.isidentifier():
        raise Malformed("a method has no name")
    if not all(type(each) is str and len(each) < 10_000 for each in _tuple(types, "types")):
        raise Malformed(f"a type of {name} is no text")
    made = tuple(_instruction(each, name) for each in _tuple(instructions, "instructions"))
    if not made:
        raise Malformed(f"{name} has no instructions")
    known = tuple(_operator(each) for each in _tuple(operators, "operators"))
    return Method(owner, name, made, known, _tuple(constants, "constants"), tuple(types), arguments, returns)


def methods(stored: Any) -> list[Method]:
    """The methods of an archive's ``bytecode.pkl``."""
    rows = list(_tuple(stored, "methods"))
    version = rows.pop(0) if rows and type(rows[0]) is int else VERSIONS.start
    if version not in VERSIONS:
        span = f"{VERSIONS.start} to {VERSIONS.stop - 1}"
        raise Malformed(f"its bytecode has version {version}, and {span} are read")
    found = [_pickled(row) for row in rows]
    check_size(found)
    return found


def check_size(found: list[Method]) -> None:
    """Refuses more instructions than any model has, and two methods of one name."""
    if sum(len(each.instructions) for each in found) > MAX_INSTRUCTIONS:
        raise Malformed(f"its bytecode has more than {MAX_INSTRUCTIONS} instructions")
    if len({(each.owner, each.name) for each in found}) < len(found):
        raise Malformed("a method occurs twice in its bytecode")


def _pickled(row: Any) -> Method:
    parts = _tuple(row, "a method")
    if len(parts) not in (2, 3):
        raise Malformed("a method is not a name, tables and a schema")
    tables = _fields(parts[1], _TABLES)
    arguments, returns = (None, None) if len(parts) == 2 else _schema(parts[2])
    instructions, operators, constants, types = (tables[name] for name in _TABLES[:-1])
    return method(parts[0], instructions, operators, constants, types, arguments, returns)


def _tuple(value: Any, what: str) -> tuple[Any, ...]:
    if type(value) is not tuple:
        raise Malformed(f"its bytecode has no tuple of {what}")
    return value


def _fields(value: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The named fields of a tuple of pairs, in their order."""
    rows = _tuple(value, "fields")
    if tuple(row[0] for row in rows if type(row) is tuple and len(row) == 2) != names:
        raise Malformed(f"its bytecode lacks one of the fields {', '.join(names)}")
    return {name: row[1] for name, row in zip(names, rows, strict=True)}


def _instruction(row: Any, where: str) -> tuple[str, int, int]:
    if type(row) is not tuple or len(row) != 3 or type(row[0]) is not str:
        raise Malformed(f"an instruction of {where} has not three parts")
    if any(type(each) is not int or each not in _WHOLE for each in row[1:]):
        raise Malformed(f"an instruction of {where} has no numbers")
    return row


def _operator(row: Any) -> Operator:
    if type(row) is not tuple or len(row) not in (2, 3) or any(type(each) is not str for each in row[:2]):
        raise Malformed("an operator has no name")
    count = row[2] if len(row) == 3 and row[2] != -1 else None  # -1: any number of them
    if count is not None and (type(count) is not int or not 0 <= count < 256):
        raise Malformed(f"the operator {row[0][:80]} has no number of arguments")
    return Operator(row[0], row[1], count)


def _schema(value: Any) -> tuple[tuple[Argument, ...], str]:
    fields = _fields(value, ("arguments", "returns"))
    arguments, returns = (
        tuple(
            argument(*_fields(row, ("name", "type", "default_value")).values())
            for row in _tuple(rows, "rows")
        )
        for rows in fields.values()
    )
    return arguments, returned([each.type for each in returns])


def argument(name: Any, kind: Any, default: Any) -> Argument:
    """An argument or a result of a method."""
    if type(name) is not str or type(kind) is not str or len(kind) > 10_000:
        raise Malformed("an argument has no name or no type")
    return Argument(name, kind, default)


def returned(types: list[str]) -> str:
    """The text of the type of a method's result."""
    return types[0] if len(types) == 1 else f"Tuple[{', '.join(types)}]" if types else "NoneType"
