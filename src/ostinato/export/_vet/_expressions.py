"""The two little languages that torch evaluates: symbolic sizes and guards.

Sizes reach sympy, which evaluates text as Python; guards become the body of a
function. Neither is handed over before it has been parsed here and every node
of it found to be plain arithmetic. Parsing runs nothing.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from ._names import identifier
from ._types import Bad, shown

MAX_LENGTH = 4000
MAX_BRACKETS = 400
MAX_EXPONENT = 8

# Shifts, and powers of anything but a symbol, are absent: they are a way to fill the memory.
_SHAPE_FUNCTIONS = (
    ("Max", "Min", "Mod", "PythonMod", "Abs", "Identity", "Where")
    + ("FloorDiv", "CeilDiv", "CleanDiv", "ModularIndexing", "IntTrueDiv", "FloatTrueDiv")
    + ("ToFloat", "TruncToInt", "TruncToFloat", "FloorToInt", "CeilToInt", "RoundToInt")
    + ("Eq", "Ne", "Lt", "Le", "Gt", "Ge", "And", "Or", "Not", "IsNonOverlappingAndDenseIndicator")
)
_SYMPY_FUNCTIONS = (
    ("Add", "Mul", "Integer", "Rational", "Equality", "Unequality")
    + ("LessThan", "StrictLessThan", "GreaterThan", "StrictGreaterThan")
)  # fmt: skip
FUNCTIONS = frozenset(_SHAPE_FUNCTIONS + _SYMPY_FUNCTIONS)
_SYMBOL = re.compile(r"(?:s|u|z|zf|zuf)\d{1,9}", re.ASCII)
_FLOAT = re.compile(r"-?\d{1,20}(\.\d{0,20})?(e[+-]?\d{1,3})?", re.ASCII)
_ASSUMPTIONS = frozenset(("integer", "positive", "nonnegative", "negative", "real", "finite"))
_TRUTH = ("true", "false")

_OPERATORS = (
    ast.Expression,
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.Compare,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.UnaryOp,
    ast.Not,
    ast.USub,
    ast.UAdd,
)
_MEASURES = ("size", "stride", "storage_offset", "dim", "numel")


def expression(value: Any) -> None:
    """A symbolic size, such as ``2*s0`` or ``Mul(Integer(2), Symbol('s0', integer=True))``."""
    _read(value, _size)


def guard(value: Any) -> None:
    """A guard on an input, such as ``L['x'].size()[0] >= 2``."""
    _read(value, _guard)


def _read(value: Any, check: Any) -> None:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_LENGTH:
        raise Bad(f"{shown(value)} is not an expression of at most {MAX_LENGTH} characters")
    if not value.isascii() or any(character in value for character in "{}\\\n\r\0"):
        raise Bad(f"the expression {shown(value)} has characters that no arithmetic needs")
    if value.count("(") + value.count("[") > MAX_BRACKETS:
        raise Bad(f"the expression {shown(value)} has more than {MAX_BRACKETS} brackets")
    try:
        check(ast.parse(value.strip(), mode="eval"))
    except Bad as bad:
        raise Bad(f"the expression {shown(value)} is refused: {bad.why}") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Bad(f"{shown(value)} is not an expression") from None


def _size(node: ast.AST) -> None:
    if isinstance(node, ast.Name):
        if not _SYMBOL.fullmatch(node.id) and node.id not in _TRUTH:
            raise Bad(f"unknown name {shown(node.id)}")
    elif isinstance(node, ast.Call):
        _size_call(node)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        _power(node.left, node.right)
    else:
        _arithmetic(node, _size)


def _size_call(node: ast.Call) -> None:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name in ("Symbol", "Float"):
        _named(name, node)
    elif name == "Pow" and len(node.args) == 2 and not node.keywords:
        _power(*node.args)
    elif name in FUNCTIONS and not node.keywords:
        for argument in node.args:
            _size(argument)
    else:
        raise Bad(f"a call of {shown(name or 'something without a name')}")


def _named(name: str, node: ast.Call) -> None:
    """``Symbol('s0', positive=True)`` and ``Float('0.5', precision=53)``."""
    first = node.args[0].value if len(node.args) == 1 and isinstance(node.args[0], ast.Constant) else None
    pattern = _SYMBOL if name == "Symbol" else _FLOAT
    if not isinstance(first, str) or not pattern.fullmatch(first):
        raise Bad(f"{name} of something else than its name or value")
    for keyword in node.keywords:
        given = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
        if name == "Symbol":
            fits = keyword.arg in _ASSUMPTIONS and type(given) is bool
        else:
            fits = keyword.arg == "precision" and type(given) is int and 0 < given <= 64
        if not fits:
            raise Bad(f"{name} with an argument that is not known")


def _power(base: ast.AST, exponent: ast.AST) -> None:
    if (
        isinstance(exponent, ast.Call)
        and isinstance(exponent.func, ast.Name)
        and exponent.func.id == "Integer"
    ):
        exponent = exponent.args[0] if len(exponent.args) == 1 else exponent
    if isinstance(exponent, ast.UnaryOp) and isinstance(exponent.op, ast.USub):
        exponent = exponent.operand
    known = isinstance(exponent, ast.Constant) and type(exponent.value) is int
    called = isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "Symbol"
    if not known or not 0 <= exponent.value <= MAX_EXPONENT or not (called or isinstance(base, ast.Name)):  # type: ignore[attr-defined]
        raise Bad(f"a power must be a symbol to a whole number of at most {MAX_EXPONENT}")
    _size(base)


def _arithmetic(node: ast.AST, check: Any) -> None:
    """Numbers, and operators on what ``check`` accepts."""
    if isinstance(node, ast.Constant):
        if type(node.value) not in (int, float, bool) or len(repr(node.value)) > 24:
            raise Bad("a constant that is no number of ordinary length")
    elif isinstance(node, _OPERATORS):
        for child in ast.iter_child_nodes(node):
            check(child)
    else:
        raise Bad(f"{type(node).__name__} is no arithmetic")


def _guard(node: ast.AST) -> None:
    if isinstance(node, ast.Subscript):
        _place(node)
    elif isinstance(node, ast.Call):
        _guard_call(node)
    else:
        _arithmetic(node, _guard)


def _guard_call(node: ast.Call) -> None:
    function = node.func
    if node.keywords:
        raise Bad("a call with keywords")
    if isinstance(function, ast.Name) and function.id in _SHAPE_FUNCTIONS:
        for argument in node.args:
            _guard(argument)
    elif isinstance(function, ast.Attribute) and function.attr in _MEASURES and not node.args:
        _place(function.value)
    elif ast.unparse(function) == "math.isnan" and len(node.args) == 1:
        _guard(node.args[0])
    else:
        raise Bad("a call of something else than a measure of an input")


def _place(node: ast.AST) -> None:
    """``L``, an item of a place, or a measure of a place."""
    if isinstance(node, ast.Subscript):
        index = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if type(index) is not int:
            identifier(index)
        _place(node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        _guard_call(node)
    elif not (isinstance(node, ast.Name) and node.id == "L"):
        raise Bad("it looks at something else than an input")
