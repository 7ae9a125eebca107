"""What an archive's code has and nobody writes: variables that are used once or never, names that clash."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator

from ._layout import WIDTH, block, text
from ._spelling import Global

# Names that are easily taken for a digit.
_UNCLEAR = frozenset("lIO")


def without_unused(function: ast.FunctionDef) -> ast.FunctionDef:
    """Without the variables that nothing reads; a call whose result is not used stays as a statement."""
    while True:
        loaded = {each.id for each in _names(function) if isinstance(each.ctx, ast.Load)}

        def kept(statement: ast.stmt, loaded: set[str] = loaded) -> ast.stmt | None:
            if isinstance(statement, ast.Assign):
                target = statement.targets[0]
                if isinstance(target, ast.Name) and target.id not in loaded:
                    calls = any(isinstance(each, ast.Call) for each in ast.walk(statement.value))
                    return ast.Expr(value=statement.value) if calls else None
            if isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Call):
                calls = any(isinstance(each, ast.Call) for each in ast.walk(statement.value))
                return statement if calls else None
            return statement

        before = sum(1 for _ in ast.walk(function))
        _each_block(function, lambda body: [made for each in body if (made := kept(each)) is not None])
        if sum(1 for _ in ast.walk(function)) == before:
            return function


def inlined(function: ast.FunctionDef) -> ast.FunctionDef:
    """With what is assigned once and read once, in the statement after, written where it is read."""
    stored = Counter(each.id for each in _names(function) if isinstance(each.ctx, ast.Store))
    stored.update(each.arg for each in ast.walk(function) if isinstance(each, ast.arg))
    loaded = Counter(each.id for each in _names(function) if not isinstance(each.ctx, ast.Store))
    once = {name for name, count in stored.items() if count == 1 and loaded[name] == 1}

    def joined(body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in reversed(body):
            if isinstance(statement, ast.Assign) and made:
                target = statement.targets[0]
                movable = isinstance(target, ast.Name) and target.id in once
                if movable and _moved(made[-1], target.id, statement.value):  # type: ignore[attr-defined]
                    continue
            made.append(statement)
        return made[::-1]

    _each_block(function, joined)
    return function


def with_conditions(function: ast.FunctionDef) -> ast.FunctionDef:
    """With ``and`` and ``or`` again, where an archive sets by an ``if`` what the next one asks for."""
    stored = Counter(each.id for each in _names(function) if isinstance(each.ctx, ast.Store))
    loaded = Counter(each.id for each in _names(function) if not isinstance(each.ctx, ast.Store))

    def joined(body: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in reversed(body):
            name, value = _condition(statement)
            after = made[-1] if made else None
            asked = _asks(after.test, name) if isinstance(after, ast.If) else None
            if isinstance(after, ast.If) and asked and value and stored[name] == 2 and loaded[name] == 1:
                swapped = value if asked is after.test else ast.UnaryOp(op=ast.Not(), operand=value)
                if len(text(swapped)) < WIDTH - 30:
                    after.test = swapped
                    continue
            made.append(statement)
        return made[::-1]

    _each_block(function, joined)
    return function


def _asks(test: ast.expr, name: str) -> ast.expr | None:
    """The name in the condition, where that is all it asks for."""
    inner = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    return inner if isinstance(inner, ast.Name) and inner.id == name and name else None


def _condition(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """The variable and condition of ``if a: v = True else: v = b`` and ``if a: v = b else: v = False``."""
    if not isinstance(statement, ast.If) or len(statement.body) != 1 or len(statement.orelse) != 1:
        return "", None
    first, second = statement.body[0], statement.orelse[0]
    if not isinstance(first, ast.Assign) or not isinstance(second, ast.Assign):
        return "", None
    target, other = first.targets[0], second.targets[0]
    if not (isinstance(target, ast.Name) and isinstance(other, ast.Name) and target.id == other.id):
        return "", None
    if isinstance(first.value, ast.Constant) and first.value.value is True:
        return target.id, ast.BoolOp(op=ast.Or(), values=[statement.test, second.value])
    if isinstance(second.value, ast.Constant) and second.value.value is False:
        return target.id, ast.BoolOp(op=ast.And(), values=[statement.test, first.value])
    return "", None


def renamed(function: ast.FunctionDef, taken: frozenset[str]) -> ast.FunctionDef:
    """With variables called otherwise than anything of the module."""
    own = [each.arg for each in ast.walk(function) if isinstance(each, ast.arg)]
    own += [each.id for each in _names(function) if isinstance(each.ctx, ast.Store)]
    own += [each.name for each in ast.walk(function) if isinstance(each, ast.FunctionDef)][1:]
    fresh: dict[str, str] = {}
    for name in dict.fromkeys(own):
        wanted = name
        while wanted in taken or wanted in _UNCLEAR or (wanted != name and wanted in own):
            wanted += "_"
        fresh[name] = wanted
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and not isinstance(node, Global):
            node.id = fresh.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = fresh[node.arg]
        elif isinstance(node, ast.FunctionDef) and node is not function:
            node.name = fresh[node.name]
    return function


def _names(function: ast.FunctionDef) -> Iterator[ast.Name]:
    for each in ast.walk(function):
        if isinstance(each, ast.Name) and not isinstance(each, Global):
            yield each


def _each_block(node: ast.AST, change: Callable[[list[ast.stmt]], list[ast.stmt]]) -> None:
    for each in ast.walk(node):
        body = getattr(each, "body", None)
        if isinstance(body, list):
            each.body = change(body) or [ast.Pass()]  # type: ignore[attr-defined]
        orelse = getattr(each, "orelse", None)
        if isinstance(orelse, list) and orelse:
            each.orelse = change(orelse)  # type: ignore[attr-defined]


# ---- moving a value to where it is read ----


def _moved(statement: ast.stmt, name: str, value: ast.expr) -> bool:
    """Puts ``value`` in the place of ``name``, where that changes neither what is done nor in which order."""
    place = _head(statement)
    if place is None:
        return False
    head = getattr(statement, place)
    order = list(_in_order(head))
    at = next((i for i, each in enumerate(order) if isinstance(each, ast.Name) and each.id == name), None)
    if at is None:
        return False
    calls = any(isinstance(each, ast.Call) for each in ast.walk(value))
    allowed: tuple[type, ...] = (ast.Name, ast.Constant, ast.List, ast.Tuple)
    if not calls:
        allowed += (ast.Attribute,)
    if not all(isinstance(each, allowed) for each in order[:at]):
        return False
    parent = _parent(head, order[at])
    if isinstance(parent, (ast.Attribute, ast.Subscript)) and not isinstance(
        value, (ast.Name, ast.Attribute)
    ):
        return False  # a chain of calls is hard to read
    if isinstance(parent, ast.Call) and parent.func is order[at] and not isinstance(value, ast.Attribute):
        return False
    setattr(statement, place, _Swap(order[at], value).visit(head))
    if _fits(statement):
        return True
    setattr(statement, place, _Swap(value, order[at]).visit(getattr(statement, place)))
    return False


class _Swap(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self._new if node is self._old else self.generic_visit(node)


def _parent(head: ast.expr, node: ast.expr) -> ast.AST | None:
    for each in ast.walk(head):
        if any(child is node for child in ast.iter_child_nodes(each)):
            return each
    return None


def _head(statement: ast.stmt) -> str | None:
    """The field of a statement that is evaluated first, and once."""
    if isinstance(statement, (ast.Expr, ast.Return)):
        return "value" if statement.value is not None else None
    if isinstance(statement, ast.Assign):
        return "value"
    if isinstance(statement, ast.If):
        return "test"
    if isinstance(statement, ast.Raise):
        return "exc"
    return "iter" if isinstance(statement, ast.For) else None


def _in_order(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions below a node as Python finishes to evaluate them."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                yield from _in_order(key)
            yield from _in_order(value)
    else:
        for each in ast.iter_child_nodes(node):
            yield from _in_order(each)
    if isinstance(node, ast.expr):
        yield node


def _fits(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.If):
        return len(text(statement.test)) < WIDTH - 30
    if isinstance(statement, ast.For):
        return len(text(statement.iter)) < WIDTH - 40
    lines = list(block([statement], 12))
    return len(lines) == 1 and len(lines[0]) <= WIDTH - 10
