"""The texts of types that bytecode holds, as the archive's code would write them."""

from __future__ import annotations

import ast
import re

from ._archive_bytecode import Malformed

_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9.]*|[\[\],]", re.ASCII)
_DEPTH = 40


def parse_type(text: str) -> ast.expr:
    """``Dict[str,List[Tensor]]`` as a tree; Malformed where it is no type."""
    words = _WORD.findall(text)
    if "".join(words) != "".join(text.split()):
        raise Malformed(f"{text[:80]!r} is no type")
    words.reverse()
    made = _parse(words, text, 0)
    if words:
        raise Malformed(f"{text[:80]!r} is no type")
    return made


def _parse(words: list[str], text: str, depth: int) -> ast.expr:
    if not words or depth > _DEPTH or words[-1] in ("[", "]", ","):
        raise Malformed(f"{text[:80]!r} is no type")
    first, *rest = words.pop().split(".")
    made: ast.expr = ast.Name(id=first, ctx=ast.Load())
    for part in rest:
        if not part.isidentifier():
            raise Malformed(f"{text[:80]!r} is no type")
        made = ast.Attribute(value=made, attr=part, ctx=ast.Load())
    if not words or words[-1] != "[":
        return made
    parts = []
    while words.pop() in ("[", ","):
        parts.append(_parse(words, text, depth + 1))
        if not words:
            raise Malformed(f"{text[:80]!r} is no type")
    held = parts[0] if len(parts) == 1 else ast.Tuple(elts=parts, ctx=ast.Load())
    return ast.Subscript(value=made, slice=held, ctx=ast.Load())


def named_tuple(text: str) -> tuple[str, list[str]] | None:
    """The name and fields of ``__torch__.Pair[NamedTuple, [[first, Tensor], [second, int]]]``."""
    name, bracket, rest = text.partition("[")
    if not bracket or not rest.lstrip().startswith("NamedTuple"):
        return None
    depth, fields, words = 1, [], _WORD.findall(rest)
    for word, following in zip(words, [*words[1:], ""], strict=True):
        depth += (word == "[") - (word == "]")
        if word == "[" and depth == 3:
            fields.append(following)
    if not fields or not all(each.isidentifier() for each in [*fields, *name.split(".")]):
        raise Malformed(f"{text[:80]!r} is no named tuple")
    return name, fields
