"""Translated functions as a person would write them: statements, over ``_calls``.

What goes in has the form that `load` runs, so it is safe by construction; what comes out keeps that.
"""

from __future__ import annotations

import ast

from .._operators_prim import EXCEPTIONS
from ._calls import Calls, called, word_of
from ._spelling import Global, dotted, spelled

_EMPTY = ast.Load()


class Rewriter(Calls):
    """Rewrites one function."""

    def function(self, name: str) -> ast.FunctionDef:
        """The function as a definition of this name."""
        spec = self._unit.tree.args
        checks: list[ast.stmt] = []
        made = ast.FunctionDef(
            name=name,
            args=ast.arguments(
                posonlyargs=[],
                args=[ast.arg(arg=each.arg) for each in spec.args],
                kwonlyargs=[ast.arg(arg=each.arg) for each in spec.kwonlyargs],
                defaults=[
                    self._default(arg, each, checks)
                    for arg, each in zip(
                        spec.args[-len(spec.defaults) or None :], spec.defaults, strict=False
                    )
                ],
                kw_defaults=[
                    each and self._default(arg, each, checks)
                    for arg, each in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
                ],
            ),
            body=[*checks, *self._block(self._unit.tree.body)],
            decorator_list=[],
        )
        return made

    def _default(self, arg: ast.arg, node: ast.expr, checks: list[ast.stmt]) -> ast.expr:
        """A default; a tensor of the file is looked up at the call, since the file is not read before."""
        if (
            isinstance(node, ast.Name)
            and node.id.startswith("CONSTANTS__")
            and self._names.is_tensor(node.id)
        ):
            given = ast.Constant(value=...)
            here = ast.Name(id=arg.arg, ctx=_EMPTY)
            test = ast.Compare(left=here, ops=[ast.Is()], comparators=[given])
            checks.append(
                ast.If(
                    test=test,
                    body=[ast.Assign(targets=[here], value=self._names.constant(node.id))],
                    orelse=[],
                )
            )
            return given
        return self.expr(node)

    # ---- statements ----

    def _block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for each in statements:
            found = self._statement(each)
            made.append(found)
            if isinstance(found, (ast.Raise, ast.Return)):
                break
        return made or [ast.Pass()]

    def _statement(self, node: ast.stmt) -> ast.stmt:
        if isinstance(node, ast.Assign):
            return ast.Assign(targets=[self._target(node.targets[0])], value=self.expr(node.value))
        if isinstance(node, ast.Expr):
            return self._bare(node.value)
        if isinstance(node, ast.Return):
            return ast.Return(value=None if node.value is None else self.expr(node.value))
        if isinstance(node, ast.If):
            return ast.If(
                test=self.expr(node.test), body=self._block(node.body), orelse=self._else(node.orelse)
            )
        if isinstance(node, ast.While):
            return ast.While(test=self.expr(node.test), body=self._block(node.body), orelse=[])
        if isinstance(node, ast.For):
            return ast.For(
                target=self._target(node.target),
                iter=self.expr(node.iter),
                body=self._block(node.body),
                orelse=[],
            )
        if isinstance(node, ast.With):
            item = node.items[0]
            target = None if item.optional_vars is None else self._target(item.optional_vars)
            made = ast.withitem(context_expr=self.expr(item.context_expr), optional_vars=target)
            return ast.With(items=[made], body=self._block(node.body))
        if isinstance(node, ast.FunctionDef):
            none = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            return ast.FunctionDef(name=node.name, args=none, body=self._block(node.body), decorator_list=[])
        assert isinstance(node, ast.Pass), type(node)
        return node

    def _else(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        return self._block(statements) if statements else []

    def _target(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Tuple):
            return ast.Tuple(elts=[self._target(each) for each in node.elts], ctx=_EMPTY)
        if isinstance(node, ast.Attribute):
            return ast.Attribute(value=self.expr(node.value), attr=node.attr, ctx=_EMPTY)
        assert isinstance(node, ast.Name)
        return ast.Name(id=node.id, ctx=ast.Store())

    def _bare(self, node: ast.expr) -> ast.stmt:
        """An expression that stands alone."""
        known = called(node)
        arguments = node.args if isinstance(node, ast.Call) else []
        if known == "prim__RaiseException" and arguments:
            kind = arguments[1] if len(arguments) > 1 else ast.Constant(value="RuntimeError")
            if isinstance(kind, ast.Constant):
                name = str(kind.value).rpartition(".")[2]
                error = self._names.needs(name if name in EXCEPTIONS else "RuntimeError")
                call = ast.Call(func=Global(id=error), args=[self.expr(arguments[0])], keywords=[])
                return ast.Raise(exc=call)
        if known in ("prim__set_item", "aten___set_item") and len(arguments) == 3:
            place, key, value = (self.expr(each) for each in arguments)
            return ast.Assign(targets=[ast.Subscript(value=place, slice=key, ctx=_EMPTY)], value=value)
        if known == "prim__set_member":
            return self._set_member(*arguments)
        if known == "aten__append" and len(arguments) == 2:
            place, value = (self.expr(each) for each in arguments)
            function = ast.Attribute(value=place, attr="append", ctx=_EMPTY)
            return ast.Expr(value=ast.Call(func=function, args=[value], keywords=[]))
        return ast.Expr(value=self.expr(node))

    def _set_member(self, owner: ast.expr, name: ast.expr, value: ast.expr) -> ast.stmt:
        made, word, new = self.expr(owner), spelled(word_of(name)), self.expr(value)
        if dotted(word):
            return ast.Assign(targets=[ast.Attribute(value=made, attr=word, ctx=_EMPTY)], value=new)
        function = "setattr" if self.own(owner) or not word.isidentifier() else "_set_member"
        return ast.Expr(value=self.call(function, [made, ast.Constant(value=word), new]))
