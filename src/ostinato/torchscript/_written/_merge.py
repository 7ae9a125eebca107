"""Which classes and functions of an archive are one: a tracer writes a class for every instance."""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable
from typing import Any

from .._program import Program

_GLOBAL = re.compile(r"\b\w*__\w+")
_ROUNDS = 8


def representatives(program: Program, shapes: dict[str, Hashable]) -> dict[str, str]:
    """Each global of a class or function → the first that is the same.

    ``shapes`` has for each class what its constructor takes; classes of other shapes stay apart.
    """
    written = {unit.name: _text(unit.tree) for unit in program.units}
    mentioned = {name for text in written.values() for name in _GLOBAL.findall(text)}
    chosen: dict[str, str] = {}
    for _ in range(_ROUNDS):
        before = dict(chosen)
        texts = {
            name: _GLOBAL.sub(lambda match: chosen.get(match[0], match[0]), text)
            for name, text in written.items()
        }
        first: dict[Any, str] = {}
        for unit in program.units:
            if unit.owner is None:
                key: Any = (unit.written.name.rpartition(".")[2], texts[unit.name])
                chosen[unit.name] = first.setdefault(key, unit.name)
        for name, declared in program.classes.items():
            known = program.references[name]
            methods = tuple(
                (unit.written.node.name, texts[unit.name]) for unit in program.units if unit.owner is declared
            )
            key = (name.rpartition(".")[2], declared.kind, shapes.get(name), methods)
            alone = declared.kind != "module" or known in mentioned
            chosen[known] = known if alone else first.setdefault(key, known)
        if chosen == before:
            break
    return chosen


def _text(tree: ast.FunctionDef) -> str:
    return ast.unparse(ast.Module(body=[tree.args, *tree.body], type_ignores=[]))  # type: ignore[list-item]
