"""Statements of control flow as calls that decide, when they run, whether Python or the program branches.

``if t: a = f() else: a = g()`` becomes

    def then__1(): nonlocal a; a = f()
    def else__1(): nonlocal a; a = g()
    def get__1(): return (a,)
    def set__1(values__): nonlocal a; (a,) = values__
    prim__branch(t, then__1, else__1, get__1, set__1, ("a",), (file, line))

Variables that nothing outside of the branch reads stay its own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from .._program import Unit

_VALUES = "values__"
_INDEX = "index__"


def traceable(unit: Unit) -> ast.FunctionDef:
    """The function of ``unit`` with its control flow as calls."""
    return _Forms(unit).function()


class _Forms:
    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._tree = unit.tree
        self._count = 0
        self._shared: dict[str, None] = {}

    def function(self) -> ast.FunctionDef:
        made = _definition(self._tree.name, self._tree.args, self._block(self._tree.body))
        own = {arg.arg for arg in (*self._tree.args.args, *self._tree.args.kwonlyargs)}
        start: list[ast.stmt] = [
            _assign(name, _name("prim__unset")) for name in self._shared if name not in own
        ]
        made.body = [*start, *made.body]
        return ast.fix_missing_locations(ast.copy_location(made, self._tree))

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for each in statements:
            found = self._statement(each)
            for part in found:
                ast.copy_location(part, each)
                for node in ast.walk(part):
                    if isinstance(node, (ast.stmt, ast.expr)) and not hasattr(node, "lineno"):
                        ast.copy_location(node, each)
            made += found
        return made

    def _statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, (ast.If, ast.While, ast.For)) and not _returns(node):
            if isinstance(node, ast.If):
                return self._if(node)
            return self._while(node) if isinstance(node, ast.While) else self._for(node)
        if isinstance(node, ast.If):
            node = ast.If(test=_not(node.test), body=self._block(node.body), orelse=self._block(node.orelse))
        elif isinstance(node, (ast.While, ast.For, ast.With)):
            node.body = self._block(node.body)
        return [_Not().visit(node)]

    def _place(self, node: ast.stmt) -> ast.expr:
        file = ast.Constant(value=self._unit.written.file)
        return ast.Tuple(elts=[file, ast.Constant(value=node.lineno)], ctx=ast.Load())

    def _if(self, node: ast.If) -> list[ast.stmt]:
        number, names = self._next(), self._outer([node], [*node.body, *node.orelse])
        parts = [
            self._inner(f"then__{number}", node.body, names),
            self._inner(f"else__{number}", node.orelse, names),
            *_access(number, names),
        ]
        functions = _functions(number, "then", "else", "get", "set")
        return [*parts, self._call("prim__branch", [_not(node.test), *functions], names, node)]

    def _while(self, node: ast.While) -> list[ast.stmt]:
        number, names = self._next(), self._outer([node], node.body, loop=node)
        test = _definition(f"test__{number}", _arguments(), [ast.Return(value=_not(node.test))])
        parts = [test, self._inner(f"body__{number}", node.body, names), *_access(number, names)]
        functions = _functions(number, "test", "body", "get", "set")
        return [*parts, self._call("prim__loop", functions, names, node)]

    def _for(self, node: ast.For) -> list[ast.stmt]:
        number = self._next()
        target = ast.Assign(targets=[node.target], value=_name(_INDEX))
        names = self._outer([node], [target, *node.body], loop=node)
        body = self._inner(f"body__{number}", [target, *node.body], names, [_INDEX])
        assert isinstance(node.iter, ast.Call)
        bounds = ast.Tuple(elts=[_not(each) for each in node.iter.args], ctx=ast.Load())
        functions = _functions(number, "body", "get", "set")
        call = self._call("prim__count", [bounds, *functions], names, node)
        return [body, *_access(number, names), call]

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _call(self, name: str, arguments: list[ast.expr], names: list[str], node: ast.stmt) -> ast.stmt:
        told = ast.Tuple(elts=[ast.Constant(value=each) for each in names], ctx=ast.Load())
        call = ast.Call(func=_name(name), args=[*arguments, told, self._place(node)], keywords=[])
        return ast.Expr(value=call)

    def _outer(
        self, whole: list[ast.stmt], body: list[ast.stmt], loop: ast.While | ast.For | None = None
    ) -> list[str]:
        """The variables that the statements assign and somebody else reads, or the next round does."""
        assigned = dict.fromkeys(_stored(body))
        inside = {id(node) for each in whole for node in ast.walk(each)}
        read = {
            node.id
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in inside
        }
        if isinstance(loop, ast.While):
            read.update(_loaded([loop.test]))
        if loop is not None:
            read.update(_before_assigned(body))
        names = [name for name in assigned if name in read]
        self._shared.update(dict.fromkeys(names))
        return names

    def _inner(
        self, name: str, body: list[ast.stmt], names: list[str], arguments: Iterable[str] = ()
    ) -> ast.FunctionDef:
        made = self._block(body) or [ast.Pass()]
        # A variable of an enclosing form is not this function's own either.
        shared = [each for each in dict.fromkeys(_stored(body)) if each in self._shared]
        if shared:
            made.insert(0, ast.Nonlocal(names=shared))
        return _definition(name, _arguments(arguments), made)


def _functions(number: int, *words: str) -> list[ast.expr]:
    return [_name(f"{each}__{number}") for each in words]


def _access(number: int, names: list[str]) -> list[ast.stmt]:
    """The functions that read and set the variables."""
    read = ast.Tuple(elts=[_name(each) for each in names], ctx=ast.Load())
    get = _definition(f"get__{number}", _arguments(), [ast.Return(value=read)])
    body: list[ast.stmt] = [ast.Pass()]
    if names:
        target = ast.Tuple(elts=[ast.Name(id=each, ctx=ast.Store()) for each in names], ctx=ast.Store())
        body = [ast.Nonlocal(names=names), ast.Assign(targets=[target], value=_name(_VALUES))]
    return [get, _definition(f"set__{number}", _arguments([_VALUES]), body)]


class _Not(ast.NodeTransformer):
    """``not x``, which would ask a tensor for its value, as a call."""

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            return ast.Call(func=_name("prim__not"), args=[node.operand], keywords=[])
        return node


def _not(node: ast.expr) -> ast.expr:
    made: ast.expr = _Not().visit(node)
    return made


def _returns(node: ast.stmt) -> bool:
    return any(isinstance(each, ast.Return) for each in ast.walk(node))


def _stored(statements: Iterable[ast.AST]) -> list[str]:
    return [
        node.id
        for each in statements
        for node in ast.walk(each)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def _loaded(nodes: Iterable[ast.AST]) -> set[str]:
    return {
        node.id
        for each in nodes
        for node in ast.walk(each)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _before_assigned(body: list[ast.stmt]) -> set[str]:
    """What a round of a loop may read before it assigns it."""
    done: set[str] = set()
    found: set[str] = set()
    for each in body:
        if isinstance(each, ast.Assign):
            found |= _loaded([each]) - done
            done.update(_stored([each]))
        elif isinstance(each, ast.If):
            found |= _loaded([each.test]) - done
            both = []
            for branch in (each.body, each.orelse):
                found |= _before_assigned(branch) - done
                both.append(set(_stored(branch)))
            done |= both[0] & both[1]
        else:
            found |= _loaded([each]) - done
    return found


def _name(name: str) -> ast.Name:
    return ast.Name(id=name, ctx=ast.Load())


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value)


def _arguments(names: Iterable[str] = ()) -> ast.arguments:
    args = [ast.arg(arg=each) for each in names]
    return ast.arguments(posonlyargs=[], args=args, kwonlyargs=[], kw_defaults=[], defaults=[])


def _definition(name: str, args: ast.arguments, body: list[Any]) -> ast.FunctionDef:
    made = ast.FunctionDef(name=name, args=args, body=body, decorator_list=[])
    if hasattr(made, "type_params"):
        made.type_params = []
    return made
