"""Signatures in comments, ``# type: (Tensor, int) -> Tensor``: found, and turned into annotations."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from ._finding import Edit, Fix
from ._module import Module

_COMMENT = re.compile(
    r"(?P<before>.*?)(?P<comment>#\s*type:\s*\((?P<args>.*)\)\s*->\s*(?P<result>[^#]+?)\s*(?:#.*)?)"
)
_END = re.compile(rb"[\s,)]*?\)\s*(:)")
_EQUALS = re.compile(rb"\s*=\s*")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def type_comments(module: Module) -> Iterator[tuple[int, int, str, Fix | None]]:
    """Line, column and text of each, and its fix; columns in characters from 0."""
    for node in module.names.functions:
        for number in range(node.lineno, node.body[0].lineno):
            found = _COMMENT.fullmatch(module.source.line(number))
            if found and (not found["before"].strip() or found["before"].rstrip().endswith(":")):
                yield number, len(found["before"]), found["comment"], _fix(module, node, number, found)
                break


def _fix(module: Module, node: _Function, line: int, found: re.Match[str]) -> Fix | None:
    types = _types(found["args"])
    result = _types(found["result"])
    args = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    if (
        types is None
        or result is None
        or len(result) != 1
        or node.args.vararg
        or node.args.kwarg
        or node.returns
    ):
        return None
    if len(args) == len(types) + 1 and args[0].arg in ("self", "cls"):
        args = args[1:]
    if len(args) != len(types) or any(each.annotation for each in args):
        return None
    if not all(_is_known(module, each, node) for each in (*types, *result)):
        return None
    colon = _colon(module, node)
    if colon is None:
        return None
    edits = [_annotated(module, arg, kind) for arg, kind in zip(args, types, strict=True)]
    edits.append(Edit(colon, colon, f" -> {ast.unparse(result[0])}"))
    edits.append(_without_comment(module, line, found))
    return Fix("write annotations", tuple(edits))


def _types(text: str) -> list[ast.expr] | None:
    try:
        call = ast.parse(f"_({text})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(call, ast.Call) or call.keywords or getattr(call.func, "id", "") != "_":
        return None
    odd = (ast.Starred, ast.NamedExpr, ast.Call, ast.Lambda)
    if any(isinstance(each, odd) for arg in call.args for each in ast.walk(arg)):
        return None
    return (
        None if any(isinstance(each, ast.Constant) and each.value is ... for each in call.args) else call.args
    )


def _is_known(module: Module, kind: ast.expr, node: _Function) -> bool:
    """Whether every name is bound before the function is defined, so that the annotation can be evaluated."""
    for each in ast.walk(kind):
        if isinstance(each, ast.Name) and not hasattr(builtins, each.id):
            places = module.names.module.bindings.get(each.id, ())
            if not any(place.line < node.lineno for place in places):
                return False
    return True


def _annotated(module: Module, arg: ast.arg, kind: ast.expr) -> Edit:
    source = module.source
    end = source.end(arg)
    equals = _EQUALS.match(source.data, end)
    text = f": {ast.unparse(kind)}"
    return Edit(end, equals.end(), text + " = ") if equals else Edit(end, end, text)


def _colon(module: Module, node: _Function) -> int | None:
    """Where the colon stands that ends the head of a function."""
    source, args = module.source, node.args
    parts: list[ast.arg | ast.expr] = [*args.posonlyargs, *args.args, *args.kwonlyargs, *args.defaults]
    parts += [each for each in args.kw_defaults if each is not None]
    if parts:
        at = max(source.end(each) for each in parts)
    else:
        opening = re.compile(rb"(?:async\s+)?def\s+\w+\s*\(").match(source.data, source.start(node))
        if opening is None:
            return None
        at = opening.end()
    end = _END.match(source.data, at)
    return end.start(1) if end else None


def _without_comment(module: Module, line: int, found: re.Match[str]) -> Edit:
    source = module.source
    start, end = source.offset(line, 0), source.offset(line + 1, 0)
    before = found["before"].rstrip()
    if not before:
        return Edit(start, end)
    return Edit(start + len(before.encode()), start + len(source.line(line).encode()))
