"""The functions of ``_operators_*`` that a written module needs, as text: theirs, with what they use.

An operator without a function of ours is torch's own, by its public name where it has one.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import types
from dataclasses import dataclass, field
from typing import Any

import torch

from .. import _operators
from .._operators import ATEN, FORMER, PRIM, callable_of

_PLACES: tuple[tuple[str, Any, str], ...] = (
    ("torch", torch, ""),
    ("F", torch.nn.functional, ""),
    ("torch.linalg", torch.linalg, "linalg_"),
    ("torch.fft", torch.fft, "fft_"),
    ("torch.special", torch.special, "special_"),
)


@dataclass
class _File:
    """One of our own files: its lines and what it defines at the top."""

    module: types.ModuleType
    lines: list[str]
    definitions: dict[str, ast.stmt] = field(default_factory=dict)


@functools.cache
def _file(module: types.ModuleType) -> _File:
    source = inspect.getsource(module)
    made = _File(module, source.splitlines())
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            made.definitions[node.name] = node
        elif isinstance(node, ast.Assign):
            made.definitions.update((each.id, node) for each in node.targets if isinstance(each, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            made.definitions[node.target.id] = node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            made.definitions.update(((each.asname or each.name), node) for each in node.names)
    return made


@functools.cache
def _files() -> tuple[_File, ...]:
    """Those that have a table of operators."""
    found = [each for each in vars(_operators).values() if isinstance(each, types.ModuleType)]
    return tuple(_file(each) for each in found if hasattr(each, "FUNCTIONS"))


class Library:
    """Collects definitions; ``name`` gives what the written module calls an operator."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._texts: dict[str, str] = {}  # in the order in which they must stand
        self._origins: dict[str, tuple[str, str]] = {}
        self._known: dict[tuple[str, str], str] = {}
        self._open: set[str] = set()
        self.imports: dict[str, None] = {}

    def text(self) -> list[str]:
        """The definitions, each after those that it uses."""
        return list(self._texts.values())

    @property
    def names(self) -> frozenset[str]:
        """What the definitions are called."""
        return frozenset(self._texts)

    @staticmethod
    def reserved() -> frozenset[str]:
        """Every name that a definition may have."""
        return frozenset(name for file in _all_files() for name in file.definitions)

    def name(self, operator: str) -> str:
        """The name that the module calls an operator (``aten::relu``, ``prim::as_dtype``) by."""
        space, _, short = operator.partition("::")
        table = PRIM if space == "prim" else ATEN
        if space != "prim" and short in FORMER and self._version < FORMER[short][0]:
            return self._former(short)
        if short not in table:
            found = callable_of(operator, self._version)
            return torch_name(getattr(found, "__wrapped__", found), short)
        file, recipe = _recipe(table[short], short)
        if isinstance(recipe, ast.Name) and recipe.id in file.definitions:
            return self._define(file, recipe.id)
        if isinstance(recipe, ast.Name):
            return recipe.id  # of Python itself
        if isinstance(recipe, ast.Attribute):
            self._needs(file, recipe)
            return ast.unparse(recipe)
        known = self._fresh(f"{space}_{short.strip('_')}", file.module.__name__, f"{space} {short}")
        if known not in self._texts:
            self._needs(file, recipe)
            self._texts[known] = (
                f"{known} = {self._renamed(file, ast.unparse(recipe).replace(chr(39), chr(34)))}"
            )
        return known

    def tensor_name(self, operator: str) -> str | None:
        """torch's name for what is an operator of tensors and a function of numbers; None for any other."""
        space, _, short = operator.partition("::")
        found = getattr(torch._C._VariableFunctions, short, None)
        if space != "aten" or short not in ATEN or found is None:
            return None
        recipe = _recipe(ATEN[short], short)[1]
        either = (
            isinstance(recipe, ast.Call) and isinstance(recipe.func, ast.Name) and recipe.func.id == "_either"
        )
        return torch_name(found, short) if either or short == "pow" else None

    def _former(self, short: str) -> str:
        found = FORMER[short][1]
        function = found.func if isinstance(found, functools.partial) else found
        file = next(each for each in _files() if each.module.__name__ == function.__module__)
        known = self._define(file, function.__name__)
        if not isinstance(found, functools.partial):
            return known
        made = self._fresh(f"old_{short.rstrip('_')}{'_in_place' if short.endswith('_') else ''}", "", short)
        self.imports["import functools"] = None
        self._texts[made] = f'{made} = functools.partial({known}, "{short}")'
        return made

    def _define(self, file: _File, name: str) -> str:
        """The name of a definition of one of our files, which is written before whatever needs it."""
        node = file.definitions[name]
        if isinstance(node, ast.ImportFrom) and node.level:
            source = next(each for each in _all_files() if each.module.__name__.endswith(f".{node.module}"))
            known = self._define(source, name)
            self._known[file.module.__name__, name] = known
            return known
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self.imports[ast.unparse(node) if isinstance(node, ast.Import) else _one(node, name)] = None
            return name
        plain = isinstance(node, (ast.Assign, ast.AnnAssign))  # the same in two files is one
        known = self._fresh(name, "" if plain else file.module.__name__, ast.unparse(node) if plain else name)
        self._known[file.module.__name__, name] = known
        if known not in self._texts and known not in self._open:
            self._open.add(known)  # functions may call each other
            self._needs(file, node)
            lines = file.lines[node.lineno - 1 : node.end_lineno]
            at = node.lineno - 2
            while at >= 0 and file.lines[at].startswith("#"):
                lines.insert(0, file.lines[at])
                at -= 1
            self._texts[known] = self._renamed(file, "\n".join(lines))
        return known

    def _needs(self, file: _File, node: ast.AST) -> None:
        own = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
        names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
        own.update(each.id for each in names if isinstance(each.ctx, ast.Store))
        for each in names:
            if each.id in file.definitions and each.id not in own and file.definitions[each.id] is not node:
                self._define(file, each.id)

    def _fresh(self, wanted: str, module: str, origin: str) -> str:
        """A name of its own for each definition of each file."""
        name, count = wanted, 1
        while self._origins.setdefault(name, (module, origin)) != (module, origin):
            count += 1
            name = f"{wanted}_{count}"
        return name

    def _renamed(self, file: _File, written: str) -> str:
        for (module, name), known in self._known.items():
            if module == file.module.__name__ and known != name:
                written = re.sub(rf"(?<![\w.\"']){re.escape(name)}(?![\w\"'])", known, written)
        return written


@functools.cache
def _all_files() -> tuple[_File, ...]:
    """Our files of operators, and those that they import from."""
    prefix = _operators.__name__
    found = {each.module.__name__: each for each in _files()}
    for file in _files():
        for each in vars(file.module).values():
            origin = inspect.getmodule(each) if callable(each) else None
            if origin is not None and origin.__name__.startswith(prefix):
                found.setdefault(origin.__name__, _file(origin))
    return tuple(found.values())


def _one(node: ast.ImportFrom, name: str) -> str:
    return f"from {node.module} import {name}"


def torch_name(found: Any, name: str) -> str:
    """How a function of torch is written: the public name where there is one for the same function."""
    for prefix, place, start in _PLACES:
        short = name.removeprefix(start)
        if getattr(place, short, None) is found and name.startswith(start):
            return f"{prefix}.{short}"
    if getattr(torch.Tensor, name, None) is found:
        return f"torch.Tensor.{name}"
    bindings: Any = torch._C
    for place in ("_VariableFunctions", "_nn", "_linalg", "_fft", "_special"):
        # The bound methods of _VariableFunctions are made anew at each access.
        if getattr(getattr(bindings, place), name, None) == found:
            return f"torch._C.{place}.{name}"
    return f"torch.ops.aten.{name}"


def _recipe(found: Any, short: str) -> tuple[_File, ast.expr]:
    """The expression that makes an operator's function, in the file whose table has it."""
    for file in _files():
        if file.module.FUNCTIONS.get(short) is found:
            node = file.definitions["FUNCTIONS"]
            assert isinstance(node, (ast.Assign, ast.AnnAssign))
            assert isinstance(node.value, ast.Dict)
            for key, value in reversed(list(zip(node.value.keys, node.value.values, strict=True))):
                if key is None and (made := _of_comprehension(file, value, short)) is not None:
                    return file, made
                if isinstance(key, ast.Constant) and key.value == short:
                    return file, value
    raise AssertionError(f"no file of operators has {short}")


def _of_comprehension(file: _File, node: ast.expr, short: str) -> ast.expr | None:
    """The value for ``short`` in ``{name: f(name, …) for name[, value] in TABLE[.items()]}``."""
    assert isinstance(node, ast.DictComp)
    loop = node.generators[0]
    pairs = isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Attribute)
    table = loop.iter.func.value if pairs else loop.iter  # type: ignore[attr-defined]
    assert isinstance(table, ast.Name)
    assert isinstance(node.key, ast.Name)
    content = file.definitions[table.id].value  # type: ignore[attr-defined]
    given: dict[str, ast.expr] = {}
    if isinstance(content, ast.Dict):
        for key, value in zip(content.keys, content.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == short:
                assert isinstance(loop.target, ast.Tuple)
                names = [each.id for each in loop.target.elts if isinstance(each, ast.Name)]
                given = {names[0]: ast.Constant(value=short), names[1]: value}
    elif short in getattr(file.module, table.id):
        given = {node.key.id: ast.Constant(value=short)}
    if not given:
        return None

    class Filled(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.expr:
            return given.get(name.id, name)

    made: ast.expr = Filled().visit(ast.parse(ast.unparse(node.value), mode="eval").body)
    return made
