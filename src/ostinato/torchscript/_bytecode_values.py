"""Values on the stack of bytecode: expressions without effects, and pieces of trees."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Value:
    """A name or a constant, and the class of the archive that it is an object of, where that is known."""

    node: Any
    cls: str | None = None


def name(text: str) -> ast.expr:
    """A dotted name."""
    first, *rest = text.split(".")
    made: ast.expr = ast.Name(id=first, ctx=ast.Load())
    for part in rest:
        made = ast.Attribute(value=made, attr=part, ctx=ast.Load())
    return made


def call(function: ast.expr, arguments: list[ast.expr]) -> ast.Call:
    """A call without keywords."""
    return ast.Call(func=function, args=arguments, keywords=[])


def constant(value: Any) -> Value:
    """A literal."""
    return Value(ast.Constant(value=value))


def held(value: Value) -> Any:
    """What a literal holds; None for anything else."""
    return value.node.value if isinstance(value.node, ast.Constant) else None


def assign(target: Value, value: Value) -> ast.stmt:
    """An assignment to a variable."""
    place = ast.Name(id=target.node.id, ctx=ast.Store())
    return ast.Assign(targets=[place], value=value.node)
