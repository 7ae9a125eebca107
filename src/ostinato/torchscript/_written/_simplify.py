"""Small things that an archive writes out and a person would not, on the form that `load` runs."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

# Primitives that tell what cannot change while a tensor lives.
_GETTERS = frozenset({"prim__dtype", "prim__device", "prim__layout", "prim__is_cuda"})


def simplified(function: ast.FunctionDef) -> ast.FunctionDef:
    """The function with properties, long texts and functions where they are used, and no dead branches."""
    _settle(function)
    stored = Counter(_stored(function))
    loads = Counter(each.id for each in _loads(function))
    moved: dict[str, ast.expr] = {}
    for statement in _assignments(function):
        target, value = statement.targets[0], statement.value
        assert isinstance(target, ast.Name)
        if (
            stored[target.id] == 1
            and _is_movable(value, stored)
            and (loads[target.id] == 1 or _is_name(value))
        ):
            moved[target.id] = value
    _Replace(moved).visit(function)
    last = function.body[-1]
    if isinstance(last, ast.Return) and _is_none(last.value):
        others = [each for each in ast.walk(function) if isinstance(each, ast.Return) and each is not last]
        if len(function.body) > 1 and all(_is_none(each.value) for each in others):
            function.body.pop()
    return function


def _is_none(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def _is_name(value: ast.expr) -> bool:
    return isinstance(value, ast.Name)


def _is_movable(value: ast.expr, stored: Counter[str]) -> bool:
    if isinstance(value, ast.Constant):
        return isinstance(value.value, str)
    if isinstance(value, ast.Name):
        return "__" in value.id and not value.id.startswith(("CONSTANTS__", "math__"))
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _GETTERS:
        argument = value.args[0]
        return isinstance(argument, ast.Name) and stored[argument.id] == 1
    return False


def _stored(function: ast.FunctionDef) -> Iterator[str]:
    for each in ast.walk(function):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id
        elif isinstance(each, ast.arg):
            yield each.arg


def _loads(function: ast.FunctionDef) -> Iterator[ast.Name]:
    for each in ast.walk(function):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            yield each


def _assignments(function: ast.FunctionDef) -> Iterator[ast.Assign]:
    for each in ast.walk(function):
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            yield each


class _Replace(ast.NodeTransformer):
    def __init__(self, values: dict[str, ast.expr]) -> None:
        self._values = values

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | None:
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in self._values:
            return None
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self._values:
            return self.visit(self._values[node.id])  # type: ignore[no-any-return]
        return node


# ---- branches that are decided in the file ----


def _settle(function: ast.FunctionDef) -> None:
    """Takes the branch of each ``if`` whose condition is written out, such as ``1 is None``."""
    for each in ast.walk(function):
        for name in ("body", "orelse"):
            body = getattr(each, name, None)
            if isinstance(body, list):
                setattr(each, name, list(_taken(body)))
        if isinstance(each, (ast.FunctionDef, ast.If, ast.While, ast.For, ast.With)) and not each.body:
            each.body = [ast.Pass()]


def _taken(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        known = _decided(statement.test) if isinstance(statement, ast.If) else None
        if isinstance(statement, ast.If) and known is not None:
            yield from _taken(statement.body if known else statement.orelse)
        else:
            yield statement


def _decided(test: ast.expr) -> bool | None:
    if isinstance(test, ast.Constant) and isinstance(test.value, bool):
        return test.value
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _decided(test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Is, ast.IsNot)):
        left, right = test.left, test.comparators[0]
        if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
            same = type(left.value) is type(right.value) and left.value == right.value
            return same == isinstance(test.ops[0], ast.Is)
    return None
