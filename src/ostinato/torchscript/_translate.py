"""One function of the archive as a fresh Python function: its statements, over ``_expressions``.

Every node of the result is made here; nothing of the archive's tree is passed through.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import ClassVar

from ._code import chain_of
from ._expressions import MAX_DEPTH, Expressions


class Translator(Expressions):
    """Translates one function; ``owner`` is its class where it is a method."""

    # ---- the function ----

    def translate(self, name: str) -> ast.FunctionDef:
        """The function as a definition called ``name``."""
        node = self._function.node
        spec = node.args
        made = ast.FunctionDef(
            name=name,
            args=ast.arguments(
                posonlyargs=[],
                args=[ast.arg(arg=self._locals[arg.arg]) for arg in spec.args],
                kwonlyargs=[ast.arg(arg=self._locals[arg.arg]) for arg in spec.kwonlyargs],
                defaults=[self._default(value) for value in spec.defaults],
                kw_defaults=[value and self._default(value) for value in spec.kw_defaults],
            ),
            body=self._body(node.body),
            decorator_list=[],
        )
        if hasattr(made, "type_params"):
            made.type_params = []
        return ast.fix_missing_locations(ast.copy_location(made, node))

    # ---- statements ----

    def _body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(statements[0], f"blocks are nested more than {MAX_DEPTH} deep")
        made: list[ast.stmt] = []
        for statement in statements:
            handler = self._STATEMENTS.get(type(statement))
            if handler is None:
                raise self._error(statement, f"a {type(statement).__name__} is no statement of TorchScript")
            made.append(ast.copy_location(handler(self, statement), statement))
        self._depth -= 1
        return made or [ast.Pass()]

    def _assign(self, node: ast.Assign) -> ast.stmt:
        if len(node.targets) != 1:
            raise self._error(node, "several targets are assigned at once")
        target = node.targets[0]
        value = self._expr(node.value)
        if isinstance(target, ast.Attribute):
            return self._assign_attribute(target, value)
        if isinstance(target, ast.Subscript):
            place, key = self._expr(target.value), self._index(target)
            return ast.Expr(value=self._helper("set_item", [place, key, value]))
        return ast.Assign(targets=[self._target(target)], value=value)

    def _annotated(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None or not isinstance(node.target, ast.Name):
            raise self._error(node, "an annotation stands without a value")
        value = node.value
        if isinstance(value, ast.Subscript) and chain_of(node.annotation)[:1] == ["__torch__"]:
            # one of a ModuleList's or ModuleDict's modules, by an interface
            found = self._helper("submodule", [self._expr(value.value), self._index(value)])
            return ast.Assign(targets=[self._target(node.target)], value=found)
        return ast.Assign(targets=[self._target(node.target)], value=self._expr(value))

    def _target(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Name):
            if node.id == self._self:
                raise self._error(node, "self is assigned")
            return ast.Name(id=self._locals[node.id], ctx=ast.Store())
        if isinstance(node, ast.Tuple) and node.elts:
            return ast.Tuple(elts=[self._target(each) for each in node.elts], ctx=ast.Store())
        raise self._error(node, f"a {type(node).__name__} is assigned")

    def _assign_attribute(self, target: ast.Attribute, value: ast.expr) -> ast.stmt:
        name = target.attr
        if self._is_self(target.value):
            assert self._owner is not None
            if name not in self._owner.attributes:
                raise self._error(target, f"the class declares no attribute {name!r}")
            if name.isidentifier() and "__" not in name:
                place = ast.Attribute(value=self._expr(target.value), attr=name, ctx=ast.Store())
                return ast.Assign(targets=[place], value=value)
        arguments = [self._expr(target.value), ast.Constant(value=name), value]
        return ast.Expr(value=self._helper("set_member", arguments))

    def _if(self, node: ast.If) -> ast.stmt:
        test = self._expr(node.test)
        return ast.If(test=test, body=self._body(node.body), orelse=self._else(node.orelse))

    def _else(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        if not statements or all(isinstance(each, ast.Pass) for each in statements):
            return []
        return self._body(statements)

    def _while(self, node: ast.While) -> ast.stmt:
        if node.orelse:
            raise self._error(node, "a loop has an else")
        return ast.While(test=self._expr(node.test), body=self._body(node.body), orelse=[])

    def _for(self, node: ast.For) -> ast.stmt:
        loop = node.iter
        if node.orelse or not isinstance(loop, ast.Call) or chain_of(loop.func) != ["range"]:
            raise self._error(node, "a loop does not run over a range")
        return ast.For(
            target=self._target(node.target),
            iter=self._helper("range", [self._expr(each) for each in loop.args]),
            body=self._body(node.body),
            orelse=[],
        )

    def _with(self, node: ast.With) -> ast.stmt:
        if len(node.items) != 1:
            raise self._error(node, "a with statement has several items")
        item = node.items[0]
        target = None if item.optional_vars is None else self._target(item.optional_vars)
        made = ast.withitem(context_expr=self._expr(item.context_expr), optional_vars=target)
        return ast.With(items=[made], body=self._body(node.body))

    def _return(self, node: ast.Return) -> ast.stmt:
        return ast.Return(value=None if node.value is None else self._expr(node.value))

    def _expression(self, node: ast.Expr) -> ast.stmt:
        return ast.Expr(value=self._expr(node.value))

    def _pass(self, node: ast.Pass) -> ast.stmt:
        return ast.Pass()

    def _function_inside(self, node: ast.FunctionDef) -> ast.stmt:
        # What torch.jit.fork was given: a function without arguments, over the variables around it.
        if ast.unparse(node.args) or node.decorator_list:
            raise self._error(node, "a function inside a function takes arguments")
        made = ast.FunctionDef(
            name=self._locals[node.name], args=_no_arguments(), body=self._body(node.body), decorator_list=[]
        )
        if hasattr(made, "type_params"):
            made.type_params = []
        return made

    _STATEMENTS: ClassVar[dict[type, Callable[..., ast.stmt]]] = {
        ast.Assign: _assign,
        ast.AnnAssign: _annotated,
        ast.FunctionDef: _function_inside,
        ast.If: _if,
        ast.While: _while,
        ast.For: _for,
        ast.With: _with,
        ast.Return: _return,
        ast.Expr: _expression,
        ast.Pass: _pass,
    }


def _no_arguments() -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
