"""Expressions as a person would write them: torch's public names, attributes, slices, signs."""

from __future__ import annotations

import ast
from typing import Any, Protocol

from .._code import is_special
from .._names import LIST_RESULTS
from .._operators_prim import PROPERTIES, as_dtype, as_layout, as_memory_format
from .._program import Unit
from ._spelling import Global, dotted, is_plain, spelled
from ._tensors import Tensors

_EMPTY = ast.Load()
# Primitives that are a function of Python, and that are an attribute of torch's objects.
_PYTHON = frozenset({"bool", "int", "float", "complex", "abs", "range"})
_ATTRIBUTES = frozenset((*PROPERTIES, "index", "type"))
_CODES = {"as_dtype": as_dtype, "as_layout": as_layout, "as_memory_format": as_memory_format}
# Lists may come back as a tuple here, or as a tensor: the operators that take either.
_EITHER = frozenset({"atleast_1d", "atleast_2d", "atleast_3d"})


class Names(Protocol):
    """What a function asks of the module that is being written."""

    def operator(self, known: str) -> str: ...
    def torch_function(self, known: str) -> str | None: ...
    def tensor_function(self, known: str) -> str | None: ...
    def constant(self, known: str) -> ast.expr: ...
    def is_tensor(self, known: str) -> bool: ...
    def definition(self, known: str) -> str: ...
    def needs(self, name: str) -> str: ...


class Calls:
    """Rewrites the expressions of one function."""

    def __init__(self, names: Names, unit: Unit, tensors: Tensors) -> None:
        self._names = names
        self._tensors = tensors
        self._unit = unit
        arguments = unit.tree.args.args
        self._self = arguments[0].arg if unit.owner is not None else None

    def call(self, function: str, arguments: list[ast.expr]) -> ast.Call:
        return ast.Call(func=Global(id=self._names.needs(function)), args=arguments, keywords=[])

    def own(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self._self

    def expr(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Constant):
            return ast.Constant(value=node.value)
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.Attribute):
            return ast.Attribute(value=self.expr(node.value), attr=node.attr, ctx=_EMPTY)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.Slice):
            lower, upper, step = (each and self.expr(each) for each in (node.lower, node.upper, node.step))
            return ast.Slice(lower=lower, upper=upper, step=step)
        if isinstance(node, ast.Tuple):
            return ast.Tuple(elts=[self.expr(each) for each in node.elts], ctx=_EMPTY)
        if isinstance(node, ast.List):
            return ast.List(elts=[self.expr(each) for each in node.elts], ctx=_EMPTY)
        if isinstance(node, ast.Dict):
            keys = [each and self.expr(each) for each in node.keys]
            return ast.Dict(keys=keys, values=[self.expr(each) for each in node.values])
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.BinOp):
            return ast.BinOp(left=self.expr(node.left), op=node.op, right=self.expr(node.right))
        if isinstance(node, ast.Compare):
            return self._compare(node)
        assert isinstance(node, ast.Call), type(node)
        return self._operation(node)

    def _name(self, known: str) -> ast.expr:
        if known.startswith("math__"):
            return Global(id=self._names.needs(known.replace("__", ".")))
        if known.startswith("CONSTANTS__"):
            return self._names.constant(known)
        if known.startswith(("aten__", "prim__")):
            return Global(id=self._names.operator(known))
        if "__" in known:
            return Global(id=self._names.definition(known))
        return ast.Name(id=known, ctx=_EMPTY)

    def _unary(self, node: ast.UnaryOp) -> ast.expr:
        inner = node.operand
        if isinstance(node.op, ast.Not):
            made = self.expr(inner)
            if isinstance(made, ast.Call) and isinstance(made.func, Global) and made.func.id == "bool":
                made = made.args[0]
            if isinstance(made, ast.Compare) and isinstance(made.ops[0], (ast.In, ast.Is)):
                op = ast.NotIn() if isinstance(made.ops[0], ast.In) else ast.IsNot()
                return ast.Compare(left=made.left, ops=[op], comparators=made.comparators)
            return ast.UnaryOp(op=ast.Not(), operand=made)
        return ast.UnaryOp(op=ast.USub(), operand=self.expr(inner))

    def _compare(self, node: ast.Compare) -> ast.expr:
        left, right = self.expr(node.left), self.expr(node.comparators[0])
        op = node.ops[0]
        if isinstance(op, (ast.Is, ast.IsNot)) and any(map(_has_value, (left, right))):
            op = ast.Eq() if isinstance(op, ast.Is) else ast.NotEq()  # archives compare constants by identity
        return ast.Compare(left=left, ops=[op], comparators=[right])

    def _subscript(self, node: ast.Subscript) -> ast.expr:
        inner = node.value
        sizes = isinstance(inner, ast.Call) and called(inner) == "aten__size" and len(inner.args) == 1
        if isinstance(inner, ast.Call) and sizes and not isinstance(node.slice, ast.Slice):
            shape = ast.Attribute(value=self.expr(inner.args[0]), attr="shape", ctx=_EMPTY)
            return ast.Subscript(value=shape, slice=self.expr(node.slice), ctx=_EMPTY)
        return ast.Subscript(value=self.expr(node.value), slice=self.expr(node.slice), ctx=_EMPTY)

    # ---- calls ----

    def _operation(self, node: ast.Call) -> ast.expr:
        known = called(node)
        if known is not None and not node.keywords:
            special = self._primitive(known.removeprefix("prim__"), node.args) if known[0] == "p" else None
            special = special or self._aten(known, node.args)
            if special is not None:
                return special
        if known == "aten__tensor" and isinstance(node.args[0], (ast.Constant, ast.List)):
            node = ast.Call(func=Global(id="torch.tensor"), args=node.args, keywords=node.keywords)
        if known is not None and node.args and self._tensors.knows(node.args[0]):
            function = self._names.tensor_function(known)
            node = (
                ast.Call(func=Global(id=function), args=node.args, keywords=node.keywords)
                if function
                else node
            )
        made = ast.Call(
            func=node.func if isinstance(node.func, Global) else self.expr(node.func),
            args=[self.expr(each) for each in node.args],
            keywords=[ast.keyword(arg=each.arg, value=self.expr(each.value)) for each in node.keywords],
        )
        if known is None or not isinstance(made.func, Global):
            return made
        return self._of_torch(made, known)

    def _of_torch(self, made: ast.Call, known: str) -> ast.expr:
        """A method where torch has the operator as a method alone, and a list where it gives a tuple."""
        assert isinstance(made.func, Global)
        short = known.partition("__")[2]
        method = made.func.id.removeprefix("torch.Tensor.")
        if method != made.func.id and made.args and _simple(made.args[0]):
            receiver, *rest = made.args
            made = ast.Call(
                func=ast.Attribute(value=receiver, attr=method, ctx=_EMPTY), args=rest, keywords=made.keywords
            )
        if self._names.torch_function(known) is not None and short in LIST_RESULTS:
            return self.call("_as_list" if short in _EITHER else "list", [made])
        return made

    def _primitive(self, short: str, arguments: list[ast.expr]) -> ast.expr | None:
        if short == "member":
            return self._member(arguments[0], arguments[1])
        if short == "new":
            cls = self.expr(arguments[0])
            return ast.Call(
                func=ast.Attribute(value=cls, attr="__new__", ctx=_EMPTY), args=[cls], keywords=[]
            )
        if short in _PYTHON and len(arguments) <= 3:
            return self.call(short, [self.expr(each) for each in arguments])
        if short in _ATTRIBUTES and len(arguments) == 1:
            return ast.Attribute(value=self.expr(arguments[0]), attr=short, ctx=_EMPTY)
        if short in _CODES:
            return self._code(short, arguments[0])
        if short == "as_device":
            return self._device(arguments[0])
        if short == "fork":
            return ast.Call(func=self.expr(arguments[0]), args=[], keywords=[])
        if short == "tolist":
            function = ast.Attribute(value=self.expr(arguments[0]), attr="tolist", ctx=_EMPTY)
            return ast.Call(func=function, args=[], keywords=[])
        if short == "isinstance":
            return self._isinstance(arguments)
        return None

    def _aten(self, known: str, arguments: list[ast.expr]) -> ast.expr | None:
        count = len(arguments)
        if known == "aten__size" and count == 2:
            function = ast.Attribute(value=self.expr(arguments[0]), attr="size", ctx=_EMPTY)
            return ast.Call(func=function, args=[self.expr(arguments[1])], keywords=[])
        if known == "aten__size" and count == 1:
            shape = ast.Attribute(value=self.expr(arguments[0]), attr="shape", ctx=_EMPTY)
            return self.call("list", [shape])
        if known == "aten__list" and count == 1 and called(arguments[0]) == "aten__size":
            return self.expr(arguments[0])
        if known == "aten__len" and count == 1:
            return self.call("len", [self.expr(arguments[0])])
        if known in ("aten__wait", "aten__cuda") and count == 1:
            return self.expr(arguments[0])
        if known == "aten__getitem__" and count == 2:
            place, key = (self.expr(each) for each in arguments)
            return ast.Subscript(value=place, slice=key, ctx=_EMPTY)
        if known == "aten__slice" and (count == 5 or self._tensors.knows(arguments[0])):
            return self._slice(arguments)  # lists have no dimension, so four arguments less the value
        if known == "aten__select" and count == 3 and self._tensors.knows(arguments[0]):
            return self._at(arguments[0], arguments[1], self.expr(arguments[2]))
        if known == "aten__to" and count == 2:
            return self._to(arguments)
        return None

    def _slice(self, arguments: list[ast.expr]) -> ast.expr | None:
        dim = arguments[1] if len(arguments) > 1 else ast.Constant(value=0)
        parts = [None if is_value(each, None) else self.expr(each) for each in arguments[2:]]
        for at, least in enumerate((0, 2**63 - 1, 1)):
            if at < len(parts) and is_value(parts[at], least):
                parts[at] = None
        lower, upper, step = (*parts, None, None, None)[:3]
        return self._at(arguments[0], dim, ast.Slice(lower=lower, upper=upper, step=step))

    def _at(self, value: ast.expr, dim: ast.expr, place: ast.expr) -> ast.expr | None:
        """``value[:, :, place]`` for a tensor and a dimension that is written out."""
        if not isinstance(dim, ast.Constant) or type(dim.value) is not int or not 0 <= dim.value < 8:
            return None
        if dim.value and called(value) == "aten__slice" and isinstance(value, ast.Call):
            inner = self._slice(value.args) if self._tensors.knows(value.args[0]) else None
            if isinstance(inner, ast.Subscript) and _is_whole(inner.slice):
                value = value.args[0]  # x[:][:, a] is x[:, a]
        every: list[ast.expr] = [ast.Slice() for _ in range(dim.value)]
        index = place if not every else ast.Tuple(elts=[*every, place], ctx=_EMPTY)
        return ast.Subscript(value=self.expr(value), slice=index, ctx=_EMPTY)

    def _to(self, arguments: list[ast.expr]) -> ast.expr | None:
        kind = arguments[1]
        if isinstance(kind, ast.Constant) and type(kind.value) is int:
            target = self._code("as_dtype", kind)
            if target is None:
                return None
        elif called(kind) == "prim__device":
            target = self.expr(kind)
        else:
            return None
        function = ast.Attribute(value=self.expr(arguments[0]), attr="to", ctx=_EMPTY)
        return ast.Call(func=function, args=[target], keywords=[])

    def _code(self, short: str, node: ast.expr) -> ast.expr | None:
        """An element type, layout or memory format for the integer that archives have in its place."""
        if isinstance(node, ast.Constant) and type(node.value) is int:
            try:
                return Global(id=self._names.needs(str(_CODES[short](node.value))))
            except IndexError:
                return None
        if short == "as_dtype" and isinstance(node, ast.Call) and called(node) == "prim__dtype":
            return ast.Attribute(value=self.expr(node.args[0]), attr="dtype", ctx=_EMPTY)
        return None

    def _device(self, node: ast.expr) -> ast.expr | None:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self.call("torch.device", [ast.Constant(value="cpu")])
        return self.expr(node) if called(node) == "prim__device" else None

    def _isinstance(self, arguments: list[ast.expr]) -> ast.expr | None:
        kinds = arguments[1].elts if isinstance(arguments[1], ast.Tuple) else []
        if len(kinds) != 1:
            return None
        value = self.expr(arguments[0])
        if is_value(kinds[0], "Tensor"):
            return self.call("isinstance", [value, Global(id=self._names.needs("torch.Tensor"))])
        if is_value(kinds[0], "NoneType"):
            return ast.Compare(left=value, ops=[ast.Is()], comparators=[ast.Constant(value=None)])
        if isinstance(kinds[0], ast.Name):
            return self.call("isinstance", [value, self.expr(kinds[0])])
        return None

    def _member(self, owner: ast.expr, name: ast.expr) -> ast.expr:
        made, word = self.expr(owner), word_of(name)
        if is_special(word):
            return ast.Attribute(value=made, attr=spelled(word), ctx=_EMPTY)
        word = spelled(word)
        if self.own(owner) and is_plain(word):
            return ast.Attribute(value=made, attr=word, ctx=_EMPTY)
        if dotted(word):
            return ast.Attribute(value=made, attr=word, ctx=_EMPTY)
        function = "getattr" if self.own(owner) or not word.isidentifier() else "_member"
        return self.call(function, [made, ast.Constant(value=word)])


def called(node: ast.expr) -> str | None:
    """The global that a call is of, where it stands for an operator."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name = node.func.id
        return name if name.startswith(("aten__", "prim__")) else None
    return None


def is_value(node: ast.expr | None, value: Any) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is type(value) and node.value == value


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Slice) and node.lower is node.upper is node.step is None


def _has_value(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, (bool, type(None)))


def _simple(node: ast.expr) -> bool:
    """Whether a method can be asked of it in one line of text."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return isinstance(node, ast.Name) or (isinstance(node, ast.Call) and isinstance(node.func, Global))


def word_of(node: ast.expr) -> str:
    """The name that ``member`` and ``set_member`` are given."""
    assert isinstance(node, ast.Constant)
    return str(node.value)
