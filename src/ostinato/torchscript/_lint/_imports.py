"""Imports of TorchScript that nothing uses, and their removal; the imports that fixes add."""

from __future__ import annotations

import ast
import pathlib

from ._finding import Edit, Fix
from ._module import Module, first_line
from ._names import Import


def remove_import(module: Module, found: Import, path: str) -> Fix | None:
    """The fix that takes one name out of an import statement."""
    star = found.alias.name == "*"
    shown = found.bound in module.ends_in_all or found.alias.asname == found.alias.name
    hidden = pathlib.PurePath(path).name != "__init__.py" and not shown and not star
    edit = _edit(module, found)
    return None if edit is None else Fix("remove the import", (edit,), safe=hidden)


def _edit(module: Module, found: Import) -> Edit | None:
    statement, alias, source = found.statement, found.alias, module.source
    if isinstance(statement, ast.Import) and alias.asname is None and _needs_torch(module, found):
        return Edit(source.start(alias), source.end(alias), "torch")
    aliases = statement.names
    if len(aliases) == 1:
        return module.without(statement)
    at = aliases.index(alias)
    if at + 1 < len(aliases):
        edit = Edit(source.start(alias), source.start(aliases[at + 1]))
    else:
        edit = Edit(source.end(aliases[at - 1]), source.end(alias))
    return None if b"#" in source.data[edit.start : edit.end] else edit


def _needs_torch(module: Module, found: Import) -> bool:
    """Whether ``import torch.jit`` is what binds ``torch`` there."""
    others = [
        each for each in module.names.imports if each.scope is found.scope and each.alias is not found.alias
    ]
    return not any(each.path == "torch" and each.bound == "torch" for each in others)


def added(module: Module, statements: list[str]) -> list[Edit]:
    """The edits that add import statements: before the first import that is not from ``__future__``."""
    body = module.tree.body
    at = 0
    while at < len(body) and (_is_docstring(body[at], at) or _is_future(body[at])):
        at += 1
    newline = module.source.newline.decode()
    text = "".join(statement + newline for statement in statements)
    first = next((each for each in body[at:] if isinstance(each, (ast.Import, ast.ImportFrom))), None)
    if first is not None:
        place = module.source.offset(first.lineno, 0)
    elif at:
        place = module.source.offset((body[at - 1].end_lineno or 0) + 1, 0)
    else:
        place = module.source.offset(first_line(body[0]), 0)
    return [Edit(place, place, text)]


def _is_docstring(statement: ast.stmt, at: int) -> bool:
    value = getattr(statement, "value", None)
    return (
        not at
        and isinstance(statement, ast.Expr)
        and isinstance(value, ast.Constant)
        and isinstance(value.value, str)
    )


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
