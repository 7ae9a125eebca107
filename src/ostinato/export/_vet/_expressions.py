"""The two little languages that torch evaluates: symbolic sizes and guards.

Sizes reach sympy, which evaluates text as Python; guards become the body of a
function. Neither is handed over before it has been read here, token by token
or node by node, and found to be plain arithmetic.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from ._names import identifier
from ._types import Bad, shown

MAX_EXPRESSION = 1000
MAX_PARENTHESES = 32
MAX_EXPONENT = 8

# Shifts and powers are absent: with large constants they are a way to fill the memory.
FUNCTIONS = frozenset(
    [
        "Max",
        "Min",
        "Mod",
        "PythonMod",
        "FloorDiv",
        "CeilDiv",
        "CleanDiv",
        "ModularIndexing",
        "Where",
        "Eq",
        "Ne",
        "Lt",
        "Le",
        "Gt",
        "Ge",
        "And",
        "Or",
        "Not",
        "Abs",
        "Identity",
        "ToFloat",
        "IntTrueDiv",
        "FloatTrueDiv",
        "TruncToInt",
        "TruncToFloat",
        "FloorToInt",
        "CeilToInt",
        "RoundToInt",
        "IsNonOverlappingAndDenseIndicator",
    ]
)
_SYMBOL = re.compile(r"(?:s|u|z|zf|zuf)\d{1,9}", re.ASCII)
_TOKEN = re.compile(
    r"(?P<number>\d{1,19}(?:\.\d{0,19})?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<operator>\*\*|//|<=|>=|==|!=|[-+*/%<>&|])|(?P<other>[(),~])",
    re.ASCII,
)


def symbol(value: Any) -> None:
    """The name of a symbolic size, such as ``s0`` or ``u1``."""
    if not isinstance(value, str) or not _SYMBOL.fullmatch(value):
        raise Bad(f"{shown(value)} is not the name of a symbolic size, such as s0 or u1")


def expression(value: Any) -> None:
    """A symbolic size: numbers, symbols, arithmetic, comparison and a few functions."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_EXPRESSION:
        raise Bad(f"{shown(value)} is not an expression of at most {MAX_EXPRESSION} characters")
    try:
        _Reader(_tokens(value)).read()
    except Bad as bad:
        raise Bad(f"the expression {shown(value)} is refused: {bad.why}") from None


def _tokens(source: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    position = 0
    while position < len(source):
        if source[position] == " ":
            position += 1
            continue
        match = _TOKEN.match(source, position)
        if match is None or match.lastgroup is None:
            raise Bad(f"unexpected {source[position]!r}")
        kind, token = match.lastgroup, match.group()
        if kind == "name":
            if _SYMBOL.fullmatch(token):
                kind = "symbol"
            elif token in FUNCTIONS:
                kind = "function"
            elif token in ("True", "False"):
                kind = "number"
            else:
                raise Bad(f"unknown name {shown(token)}")
        found.append((kind, token))
        position = match.end()
    return found


class _Reader:
    """Walks the tokens with two states, a value is due or has just been read; it never recurses."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.open: list[bool] = []  # one entry a parenthesis: does it hold the arguments of a function?

    def read(self) -> None:
        due = True
        skip = False
        for i, (kind, token) in enumerate(self.tokens):
            if skip:
                skip = False
            elif due:
                due = self._value(i, kind, token)
            elif token == "**":
                self._power(i)
                skip = True
            elif kind == "operator":
                due = True
            elif token == ")" and self.open:
                self.open.pop()
            elif token == "," and self.open and self.open[-1]:
                due = True
            else:
                raise Bad(f"unexpected {token!r}")
        if due or self.open:
            raise Bad("it ends too early")

    def _value(self, i: int, kind: str, token: str) -> bool:
        if kind in ("number", "symbol"):
            return False
        if token == "(":
            if len(self.open) >= MAX_PARENTHESES:
                raise Bad("too many parentheses")
            self.open.append(i > 0 and self.tokens[i - 1][0] == "function")
        elif kind == "function":
            if i + 1 == len(self.tokens) or self.tokens[i + 1][1] != "(":
                raise Bad(f"{token} is not called")
        elif token not in ("-", "+", "~"):
            raise Bad(f"unexpected {token!r}")
        return True

    def _power(self, i: int) -> None:
        base = self.tokens[i - 1][0]
        exponent = self.tokens[i + 1] if i + 1 < len(self.tokens) else ("", "")
        if base != "symbol" or not exponent[1].isdigit() or int(exponent[1]) > MAX_EXPONENT:
            raise Bad(f"a power must be a symbol to a whole number of at most {MAX_EXPONENT}")
        if i + 2 < len(self.tokens) and self.tokens[i + 2][1] == "**":
            raise Bad("a power of a power")


_PLAIN = (
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
    ast.Load,
)
_MEASURES = ("size", "stride", "storage_offset", "dim", "numel")


def guard(value: Any) -> None:
    """A guard on an input, such as ``L['x'].size()[0] >= 2``."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_EXPRESSION:
        raise Bad(f"{shown(value)} is not a guard of at most {MAX_EXPRESSION} characters")
    if value.count("(") + value.count("[") > 2 * MAX_PARENTHESES or "{" in value or "\n" in value:
        raise Bad(f"the guard {shown(value)} has too many parentheses, or braces or line breaks")
    try:
        _guard_node(ast.parse(value.strip(), mode="eval"))
    except Bad as bad:
        raise Bad(f"the guard {shown(value)} is refused: {bad.why}") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Bad(f"the guard {shown(value)} is not an expression") from None


def _guard_node(node: ast.AST) -> None:
    if isinstance(node, _PLAIN):
        for child in ast.iter_child_nodes(node):
            _guard_node(child)
    elif isinstance(node, ast.Constant):
        if type(node.value) not in (int, float, bool) or len(repr(node.value)) > 40:
            raise Bad("a constant that is no number")
    elif isinstance(node, ast.Subscript):
        _guard_index(node.slice)
        _guard_place(node.value)
    elif isinstance(node, ast.Call) and not node.keywords:
        _guard_call(node)
    else:
        raise Bad(f"{type(node).__name__} is not part of the language of guards")


def _guard_call(node: ast.Call) -> None:
    function = node.func
    if isinstance(function, ast.Name) and function.id in FUNCTIONS:
        for argument in node.args:
            _guard_node(argument)
    elif isinstance(function, ast.Attribute) and function.attr in _MEASURES and not node.args:
        _guard_place(function.value)
    elif (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and (function.value.id, function.attr) == ("math", "isnan")
        and len(node.args) == 1
    ):
        _guard_node(node.args[0])
    else:
        raise Bad("a call of something else than a measure of an input")


def _guard_place(node: ast.AST) -> None:
    """``L``, an item of a place, or a measure of a place."""
    if isinstance(node, ast.Name) and node.id == "L":
        return
    if isinstance(node, ast.Subscript):
        _guard_index(node.slice)
        _guard_place(node.value)
    elif isinstance(node, ast.Call) and not node.keywords and isinstance(node.func, ast.Attribute):
        _guard_call(node)
    else:
        raise Bad("it looks at something else than an input")


def _guard_index(node: ast.AST) -> None:
    if not isinstance(node, ast.Constant) or type(node.value) not in (int, str):
        raise Bad("an index that is neither a number nor a name")
    if isinstance(node.value, str):
        identifier(node.value)
