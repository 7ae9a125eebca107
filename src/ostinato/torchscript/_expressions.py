"""Expressions of the archive as fresh Python expressions that can reach only what the tables name.

A name is a local of the function or a global of the generated program (all of which contain ``__``, which no
local does); an attribute is one that the class declares, or goes through ``member``, which looks at the
object's class.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Protocol

from .._errors import OstinatoError
from ._code import Class, Function, chain_of, is_special, literal
from ._names import COMPARE, CONTAINERS, CONTAINS, CONVERTED, INFIX, TYPES, UNARY

MAX_DEPTH = 120
# The only names between double underscores that code may call on an object.
DUNDERS = frozenset(
    (
        "__init__",
        "__len__",
        "__contains__",
        "__getitem__",
        "__setitem__",
        "__delitem__",
        "__enter__",
        "__exit__",
        "__setstate__",
        "__getstate__",
        "__eq__",
        "__ne__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__add__",
        "__sub__",
        "__mul__",
        "__truediv__",
        "__neg__",
        "__str__",
        "__call__",
        "__hash__",
        "__bool__",
        "__int__",
        "__float__",
        "__iter__",
        "__next__",
    )
)
_CONVERT = frozenset({"int", "float", "bool", "complex", "str"})


class Globals(Protocol):
    """What a translation asks of the program it belongs to: the names of globals."""

    version: int

    def operator(self, name: str, file: str, line: int) -> str: ...
    def helper(self, name: str) -> str: ...
    def enumeration(self, name: str) -> frozenset[str]: ...
    def reference(self, name: str) -> str: ...
    def constant(self, name: str) -> str: ...
    def error(self, file: str, line: int, what: str) -> OstinatoError: ...


class Expressions:
    """The expressions of one function; ``owner`` is its class where it is a method."""

    def __init__(self, program: Globals, function: Function, owner: Class | None) -> None:
        self._program = program
        self._function = function
        self._owner = owner
        self._depth = 0
        spec = function.node.args
        self._arguments = [arg.arg for arg in [*spec.args, *spec.kwonlyargs]]
        self._self = self._arguments[0] if owner is not None else None
        self._locals = self._rename([*self._arguments, *assigned(function.node)])

    def _error(self, node: ast.AST, what: str) -> OstinatoError:
        return self._program.error(self._function.file, getattr(node, "lineno", 0), what)

    def _rename(self, names: Iterable[str]) -> dict[str, str]:
        renamed: dict[str, str] = {}
        taken: set[str] = set()
        for name in names:
            if name in renamed:
                continue
            fresh = name.replace("__", "_") if "__" in name else name
            while "__" in fresh:
                fresh = fresh.replace("__", "_")
            if keyword.iskeyword(fresh) or len(name) > 200:
                raise self._error(self._function.node, f"{name[:40]!r} cannot be a variable")
            while fresh in taken or (fresh != name and fresh in names):
                fresh += "x"
            renamed[name] = fresh
            taken.add(fresh)
        return renamed

    def _default(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Attribute) and chain_of(node)[:1] == ["CONSTANTS"]:
            return self._expr(node)
        try:
            value = literal(node)
        except ValueError:
            raise self._error(node, "a default is neither a literal nor a constant of the archive") from None
        return self._value(value, node)

    def _value(self, value: Any, node: ast.expr) -> ast.expr:
        if isinstance(value, (tuple, list)):
            parts = [self._value(each, node) for each in value]
            if isinstance(value, tuple):
                return ast.Tuple(elts=parts, ctx=ast.Load())
            return ast.List(elts=parts, ctx=ast.Load())
        if isinstance(value, float) and not abs(value) < float("inf"):
            number: ast.expr = self._global("math__nan" if value != value else "math__inf")
            return ast.UnaryOp(op=ast.USub(), operand=number) if value < 0 else number
        return ast.Constant(value=value)

    def _expr(self, node: ast.expr) -> ast.expr:
        handler = self._EXPRESSIONS.get(type(node))
        if handler is None:
            raise self._error(node, f"a {type(node).__name__} is no expression of TorchScript")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(node, f"it is nested more than {MAX_DEPTH} deep")
        made = ast.copy_location(handler(self, node), node)
        self._depth -= 1
        return made

    def _global(self, name: str) -> ast.Name:
        return ast.Name(id=name, ctx=ast.Load())

    def _helper(self, name: str, arguments: list[ast.expr]) -> ast.expr:
        return ast.Call(func=self._global(self._program.helper(name)), args=arguments, keywords=[])

    def _is_self(self, node: ast.expr) -> bool:
        return self._self is not None and isinstance(node, ast.Name) and node.id == self._self

    def _constant(self, node: ast.Constant) -> ast.expr:
        value = node.value
        if isinstance(value, int) and not -(2**63) <= value <= 2**63:
            raise self._error(node, "a number has more than 64 bits")
        if not isinstance(value, (bool, int, float, complex, str, type(None))):
            raise self._error(node, f"a {type(value).__name__} is no constant of TorchScript")
        return ast.Constant(value=_decoded(value))

    def _name(self, node: ast.Name) -> ast.expr:
        if node.id in self._locals:
            return ast.Name(id=self._locals[node.id], ctx=ast.Load())
        if node.id in ("inf", "nan"):
            return self._global(f"math__{node.id}")
        raise self._error(node, f"the name {node.id!r} means nothing")

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        chain = chain_of(node)
        if chain and chain[0] not in self._locals:
            if chain[0] == "CONSTANTS" and len(chain) == 2:
                return self._global(self._program.constant(chain[1]))
            if chain[0] == "__torch__":
                owner = ".".join(chain[:-1])
                if chain[-1] in self._program.enumeration(owner):
                    cls = self._global(self._program.reference(owner))
                    return ast.Attribute(value=cls, attr=chain[-1], ctx=ast.Load())
                return self._global(self._program.reference(".".join(chain)))
            raise self._error(node, f"the name {'.'.join(chain)[:80]!r} means nothing")
        return self._get(node, node.value, node.attr)

    def _get(self, node: ast.AST, value: ast.expr, name: str) -> ast.expr:
        if is_special(name) and name not in DUNDERS:
            raise self._error(node, f"the attribute {name[:40]!r} is none that code may use")
        if self._is_self(value):
            assert self._owner is not None
            if name not in self._owner.members:
                raise self._error(node, f"the class declares no attribute or method {name[:80]!r}")
            if name.isidentifier() and "__" not in name and not keyword.iskeyword(name):
                return ast.Attribute(value=self._expr(value), attr=name, ctx=ast.Load())
        elif name == "forward":
            return ast.Attribute(value=self._expr(value), attr=name, ctx=ast.Load())
        return self._helper("member", [self._expr(value), ast.Constant(value=name)])

    def _subscript(self, node: ast.Subscript) -> ast.expr:
        return ast.Subscript(value=self._expr(node.value), slice=self._index(node), ctx=ast.Load())

    def _index(self, node: ast.Subscript) -> ast.expr:
        part = node.slice
        if not isinstance(part, ast.Slice):
            return self._expr(part)
        lower, upper, step = (each and self._expr(each) for each in (part.lower, part.upper, part.step))
        return ast.Slice(lower=lower, upper=upper, step=step)

    def _tuple(self, node: ast.Tuple) -> ast.expr:
        return ast.Tuple(elts=[self._expr(each) for each in node.elts], ctx=ast.Load())

    def _list(self, node: ast.List) -> ast.expr:
        return ast.List(elts=[self._expr(each) for each in node.elts], ctx=ast.Load())

    def _dict(self, node: ast.Dict) -> ast.expr:
        keys: list[ast.expr | None] = []
        for key in node.keys:
            if key is None:
                raise self._error(node, "a dictionary is unpacked")
            keys.append(self._expr(key))
        return ast.Dict(keys=keys, values=[self._expr(each) for each in node.values])

    def _unary(self, node: ast.UnaryOp) -> ast.expr:
        if not isinstance(node.op, ast.USub):
            raise self._error(node, f"a {type(node.op).__name__} is no operation of TorchScript")
        return ast.UnaryOp(op=ast.USub(), operand=self._expr(node.operand))

    def _complex(self, node: ast.BinOp) -> ast.expr:
        try:
            return ast.Constant(value=literal(node))
        except ValueError:
            raise self._error(node, "an operation is written as a sign") from None

    # ---- calls ----

    def _call(self, node: ast.Call) -> ast.expr:
        for keyword_ in node.keywords:
            if keyword_.arg is None:
                raise self._error(node, "a call unpacks arguments")
        chain = chain_of(node.func)
        if len(chain) == 1 and chain[0] not in self._locals:
            return self._builtin(chain[0], node)
        if len(chain) > 1 and chain[0] not in self._locals:
            if chain[0] == "torch":
                return self._written("aten::" + ".".join(chain[1:]), node)
            if chain[0] == "ops" and len(chain) == 3:
                return self._written(f"{chain[1]}::{chain[2]}", node)
            if chain[0] == "__torch__" and chain[-1] == "__new__":
                cls = self._global(self._program.reference(".".join(chain[:-1])))
                return self._helper("new", [cls])
        if isinstance(node.func, ast.Attribute) and node.func.attr == "tolist" and not node.args:
            return self._helper("tolist", [self._expr(node.func.value)])
        return self._plain(self._expr(node.func), node)

    def _plain(self, function: ast.expr, node: ast.Call) -> ast.expr:
        return ast.Call(
            func=function,
            args=[self._expr(each) for each in node.args],
            keywords=[ast.keyword(arg=each.arg, value=self._expr(each.value)) for each in node.keywords],
        )

    def _written(self, name: str, node: ast.Call) -> ast.expr:
        keywords = [each for each in node.keywords if not _is_alpha_one(name, each)]
        if not keywords and len(node.args) == 2 and (name in INFIX or name in COMPARE):
            left, right = (self._expr(each) for each in node.args)
            if name in INFIX:
                return ast.BinOp(left=left, op=INFIX[name], right=right)
            return ast.Compare(left=left, ops=[COMPARE[name]], comparators=[right])
        if not keywords and len(node.args) == 1 and name in UNARY:
            return ast.UnaryOp(op=UNARY[name], operand=self._expr(node.args[0]))
        if name == CONTAINS and not keywords and len(node.args) == 2:
            values, value = (self._expr(each) for each in node.args)
            return ast.Compare(left=value, ops=[ast.In()], comparators=[values])
        known = self._program.operator(name, self._function.file, node.lineno)
        made = ast.Call(func=self._global(known), args=[self._expr(each) for each in node.args], keywords=[])
        for given in keywords:
            value = self._expr(given.value)
            if given.arg in CONVERTED and not (isinstance(value, ast.Constant) and value.value is None):
                value = self._helper(CONVERTED[given.arg], [value])
            made.keywords.append(ast.keyword(arg=given.arg, value=value))
        return made

    def _builtin(self, name: str, node: ast.Call) -> ast.expr:
        arguments = node.args
        if name in ("annotate", "unchecked_cast") and len(arguments) == 2:
            kind = arguments[0].id if isinstance(arguments[0], ast.Name) else ""
            value = self._expr(arguments[1])
            if name == "annotate" and kind in ("int", "float", "bool"):
                return self._helper(kind, [value])  # a tensor may stand where a number is meant
            return value
        if name == "uninitialized" and len(arguments) == 1:
            return ast.Constant(value=None)
        if name in _CONVERT or name == "print":
            return self._helper(name, [self._expr(each) for each in arguments])
        if name == "fork" and len(arguments) == 1:
            return self._helper("fork", [self._expr(arguments[0])])
        if name == "sorted" and not node.keywords:
            return self._written("aten::sorted", node)
        if name == "getattr" and len(arguments) == 2:
            attribute = arguments[1]
            if isinstance(attribute, ast.Constant) and isinstance(attribute.value, str):
                return self._get(node, arguments[0], attribute.value)
        if name == "isinstance" and len(arguments) == 2:
            kinds = arguments[1].elts if isinstance(arguments[1], ast.Tuple) else [arguments[1]]
            told = ast.Tuple(elts=[self._type(kind) for kind in kinds], ctx=ast.Load())
            return self._helper("isinstance", [self._expr(arguments[0]), told])
        raise self._error(node, f"{name[:80]!r} is not called in TorchScript this way")

    def _type(self, node: ast.expr) -> ast.expr:
        """A type as a word, a class, or a tuple of a container's name and the types of its parts."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(node, f"a type is nested more than {MAX_DEPTH} deep")
        chain = chain_of(node)
        made: ast.expr
        if chain[:1] == ["__torch__"]:
            made = self._global(self._program.reference(".".join(chain)))
        elif len(chain) == 1 and chain[0] in TYPES:
            made = ast.Constant(value=chain[0])
        elif isinstance(node, ast.Subscript) and chain_of(node.value) in ([each] for each in CONTAINERS):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            name = ast.Constant(value=chain_of(node.value)[0])
            made = ast.Tuple(elts=[name, *(self._type(part) for part in parts)], ctx=ast.Load())
        elif isinstance(node, ast.Constant) and node.value is None:
            made = ast.Constant(value="NoneType")
        else:
            raise self._error(node, "isinstance is asked for something that is no type")
        self._depth -= 1
        return made

    _EXPRESSIONS: ClassVar[dict[type, Callable[..., ast.expr]]] = {
        ast.BinOp: _complex,
        ast.Constant: _constant,
        ast.Name: _name,
        ast.Attribute: _attribute,
        ast.Subscript: _subscript,
        ast.Tuple: _tuple,
        ast.List: _list,
        ast.Dict: _dict,
        ast.UnaryOp: _unary,
        ast.Call: _call,
    }


def _is_alpha_one(name: str, given: ast.keyword) -> bool:
    """Whether this is ``alpha=1`` of a sum, which changes nothing."""
    one = isinstance(given.value, ast.Constant) and given.value.value == 1
    return given.arg == "alpha" and one and name in ("aten::add", "aten::sub")


def _decoded(value: Any) -> Any:
    """A text as it was: archives write each byte of its UTF-8 as a character."""
    if isinstance(value, str) and not value.isascii():
        try:
            return value.encode("latin-1").decode("utf-8")
        except UnicodeError:
            return value
    return value


def assigned(function: ast.FunctionDef) -> list[str]:
    """The names that a function assigns or defines, in the order of the tree."""
    names: list[str] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.FunctionDef) and node is not function:
            names.append(node.name)
    return names
