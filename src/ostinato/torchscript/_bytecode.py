"""Fills in the methods of a lite-interpreter archive: its bytecode, written in the archive's language."""

from __future__ import annotations

import ast

from ._archive_bytecode import Malformed, Method
from ._archive_lite import Lite
from ._bytecode_body import Body
from ._bytecode_values import Value
from ._code import Class, Function


def write_bodies(lite: Lite) -> None:
    """Gives every method of the archive its statements; ArchiveError where its bytecode is not torch's."""
    for method in lite.written:
        owner = lite.find(method.owner)
        assert isinstance(owner, Class)
        function = owner.methods[method.name]
        try:
            function.node.body = Body(method, lite, _arguments(lite, method, function)).statements()
        except Malformed as error:
            raise lite.archive.damaged(f"in {method.name}, {error}") from None
        ast.fix_missing_locations(function.node)


def _arguments(lite: Lite, method: Method, function: Function) -> list[Value]:
    """What is on the stack at first: the arguments, and the classes of those that are objects."""
    made = []
    for at, argument in enumerate(function.node.args.args):
        kind = (
            method.owner
            if at == 0
            else ""
            if argument.annotation is None
            else ast.unparse(argument.annotation)
        )
        cls = kind if lite.find(kind) is not None else None
        made.append(Value(ast.Name(id=argument.arg, ctx=ast.Load()), cls))
    return made
