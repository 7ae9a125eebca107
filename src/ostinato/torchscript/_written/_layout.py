"""Python text of translated trees, laid out as the usual formatters do, one statement at a time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

WIDTH = 110
_STEP = 4
_BINARY: dict[type, tuple[str, int]] = {
    ast.BitOr: ("|", 4),
    ast.BitXor: ("^", 5),
    ast.BitAnd: ("&", 6),
    ast.LShift: ("<<", 7),
    ast.RShift: (">>", 7),
    ast.Add: ("+", 8),
    ast.Sub: ("-", 8),
    ast.Mult: ("*", 9),
    ast.FloorDiv: ("//", 9),
    ast.Mod: ("%", 9),
}
_COMPARE: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.Gt: ">",
    ast.LtE: "<=",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_OR, _AND, _NOT, _COMPARED, _NEGATED, _ATOM = 0, 1, 2, 3, 10, 12


# ---- expressions on one line ----


def text(node: ast.expr, outer: int = 0) -> str:
    """The expression on one line, in parentheses where what is around it binds closer (``outer``)."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant):
        return _constant(node.value, outer)
    if isinstance(node, ast.Attribute):
        return f"{text(node.value, _ATOM)}.{node.attr}"
    if isinstance(node, ast.Call):
        return f"{text(node.func, _ATOM)}({', '.join(_argument(each) for each in items(node))})"
    if isinstance(node, ast.Subscript):
        return f"{text(node.value, _ATOM)}[{_index(node.slice)}]"
    if isinstance(node, ast.Tuple):
        parts = [text(each) for each in node.elts]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    if isinstance(node, ast.List):
        return f"[{', '.join(text(each) for each in node.elts)}]"
    if isinstance(node, ast.Dict):
        return "{" + ", ".join(_argument(each) for each in items(node)) + "}"
    if isinstance(node, ast.UnaryOp):
        sign, level = ("not ", _NOT) if isinstance(node.op, ast.Not) else ("-", _NEGATED)
        return _within(sign + text(node.operand, level), level, outer)
    if isinstance(node, ast.BinOp):
        sign, level = _BINARY[type(node.op)]
        return _within(f"{text(node.left, level)} {sign} {text(node.right, level + 1)}", level, outer)
    if isinstance(node, ast.BoolOp):
        word, level = (" or ", _OR) if isinstance(node.op, ast.Or) else (" and ", _AND)
        return _within(word.join(text(each, level + 1) for each in node.values), level, outer)
    if isinstance(node, ast.Compare):
        left, right = text(node.left, _COMPARED + 1), text(node.comparators[0], _COMPARED + 1)
        return _within(f"{left} {_COMPARE[type(node.ops[0])]} {right}", _COMPARED, outer)
    raise AssertionError(f"a translation holds no {type(node).__name__}")


def _within(written: str, level: int, outer: int) -> str:
    return f"({written})" if level < outer else written


def items(node: ast.expr) -> list[tuple[str, ast.expr]]:
    """The parts between the brackets of a call or literal, each with what stands before it."""
    if isinstance(node, ast.Call):
        named = [(f"{each.arg}=", each.value) for each in node.keywords]
        return [("", each) for each in node.args] + named
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [(f"{text(key)}: ", value) for key, value in pairs if key is not None]
    if isinstance(node, (ast.Tuple, ast.List)):
        return [("", each) for each in node.elts]
    return []


def _argument(item: tuple[str, ast.expr]) -> str:
    return item[0] + text(item[1])


def _constant(value: object, outer: int) -> str:
    if isinstance(value, str):
        return quoted(value)
    if value is ...:
        return "..."
    if isinstance(value, (float, complex)):
        assert value == value, "nan is written as math.nan"
    written = repr(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if written.startswith("-"):
            return _within(written, _NEGATED, outer)
        return f"({written})" if outer == _ATOM and isinstance(value, int) else written
    return written


def quoted(value: str) -> str:
    """A text as a literal of printable ASCII, in double quotes unless that takes more backslashes."""
    written = repr(value) if value.isprintable() else ascii(value)
    if written[0] == '"' or ('"' in value and "'" not in value):
        return written
    body = written[1:-1]
    if '"' in value:  # both kinds of quotes: repr has escaped the single ones
        single, double = body.count("\\'"), value.count('"')
        if single < double:
            return written
        body = body.replace("\\'", "'").replace('"', '\\"')
    return f'"{body}"'


def _index(node: ast.expr) -> str:
    if isinstance(node, ast.Tuple) and node.elts:
        return ", ".join(_index(each) for each in node.elts) + ("," if len(node.elts) == 1 else "")
    if not isinstance(node, ast.Slice):
        return text(node)
    plain = all(each is None or _plain(each) for each in (node.lower, node.upper, node.step))
    lower, upper, step = ("" if each is None else text(each) for each in (node.lower, node.upper, node.step))
    if plain:
        return f"{lower}:{upper}" + (f":{step}" if step else "")
    written = f"{lower} :" if lower else ":"
    written += f" {upper}" if upper else ""
    if step:
        written += f" : {step}" if upper else f": {step}"
    return written


def _plain(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, (ast.Name, ast.Constant)) and "." not in getattr(node, "id", "")


# ---- statements ----


def block(statements: list[ast.stmt], indent: int) -> Iterator[str]:
    """The lines of statements."""
    for at, statement in enumerate(statements):
        if at and isinstance(statement, ast.FunctionDef):
            yield ""
        yield from _statement(statement, indent)
        after = statements[at + 1 : at + 2]
        if isinstance(statement, ast.FunctionDef) and after and not isinstance(after[0], ast.FunctionDef):
            yield ""


def _statement(node: ast.stmt, indent: int) -> Iterator[str]:
    pad = " " * indent
    if isinstance(node, ast.Assign):
        yield from _assign(node, indent)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield f'{pad}"""{node.value.value!s}"""'  # a docstring, which is ours
    elif isinstance(node, ast.Expr):
        yield from laid(node.value, "", "", indent)
    elif isinstance(node, ast.Return):
        if node.value is None:
            yield f"{pad}return"
        elif isinstance(node.value, ast.Tuple):
            yield from _bare(node.value, "return ", "", indent)
        else:
            yield from laid(node.value, "return ", "", indent)
    elif isinstance(node, ast.Raise):
        assert node.exc is not None
        yield from laid(node.exc, "raise ", "", indent)
    elif isinstance(node, ast.If):
        yield from _if(node, indent, "if")
    elif isinstance(node, ast.While):
        yield from laid(node.test, "while ", ":", indent)
        yield from block(node.body, indent + _STEP)
    elif isinstance(node, ast.For):
        yield from laid(node.iter, f"for {_target(node.target)} in ", ":", indent)
        yield from block(node.body, indent + _STEP)
    elif isinstance(node, ast.With):
        item = node.items[0]
        end = "" if item.optional_vars is None else f" as {_target(item.optional_vars)}"
        yield from laid(item.context_expr, "with ", end + ":", indent)
        yield from block(node.body, indent + _STEP)
    elif isinstance(node, ast.FunctionDef):
        yield from function(node, indent)
    elif isinstance(node, ast.Delete):
        yield from laid(node.targets[0], "del ", "", indent)
    elif isinstance(node, ast.Global):
        yield f"{pad}global {', '.join(node.names)}"
    elif isinstance(node, ast.Pass):
        yield f"{pad}pass"
    else:
        raise AssertionError(f"a translation holds no {type(node).__name__}")


def _assign(node: ast.Assign, indent: int) -> Iterator[str]:
    target = node.targets[0]
    if isinstance(target, ast.Tuple) and indent + len(_target(target)) + 6 > WIDTH:
        *first, last = _exploded(target, "(", ")", indent)
        yield from first
        yield from laid(node.value, f"{last.strip()} = ", "", indent)
    elif isinstance(node.value, ast.Tuple):
        yield from _bare(node.value, f"{_target(target)} = ", "", indent)
    else:
        yield from laid(node.value, f"{_target(target)} = ", "", indent)


def _target(node: ast.expr) -> str:
    if not isinstance(node, ast.Tuple):
        return text(node)
    if len(node.elts) == 1:
        return text(node)
    return ", ".join(text(each) for each in node.elts)


def _if(node: ast.If, indent: int, word: str) -> Iterator[str]:
    yield from laid(node.test, f"{word} ", ":", indent)
    yield from block(node.body, indent + _STEP)
    if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        yield from _if(node.orelse[0], indent, "elif")
    elif node.orelse:
        yield " " * indent + "else:"
        yield from block(node.orelse, indent + _STEP)


def function(node: ast.FunctionDef, indent: int) -> Iterator[str]:
    """The lines of a function, its docstring among its statements."""
    spec = node.args
    parts: list[str] = []
    defaults: list[ast.expr | None] = [*[None] * (len(spec.args) - len(spec.defaults)), *spec.defaults]
    for arg, default in zip(spec.args, defaults, strict=True):
        parts.append(arg.arg + ("" if default is None else f"={text(default)}"))
    if spec.kwonlyargs:
        parts.append("*")
    for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        parts.append(arg.arg + ("" if default is None else f"={text(default)}"))
    pad, inner = " " * indent, " " * (indent + _STEP)
    whole = f"{pad}def {node.name}({', '.join(parts)}):"
    if len(whole) <= WIDTH:
        yield whole
    else:
        yield f"{pad}def {node.name}("
        if len(inner + ", ".join(parts)) <= WIDTH:
            yield inner + ", ".join(parts)
        else:
            yield from (f"{inner}{part}," if part != "*" else f"{inner}*," for part in parts)
        yield f"{pad}):"
    yield from block(node.body, indent + _STEP)


def laid(node: ast.expr, before: str, after: str, indent: int) -> Iterator[str]:
    """The expression between two texts: on one line, or split at its outermost brackets."""
    pad = " " * indent
    whole = f"{pad}{before}{text(node)}{after}"
    if len(whole) <= WIDTH or not items(node):
        if len(whole) > WIDTH and before.endswith("= ") and not before.endswith(("(", "== ")) and not after:
            inner = " " * (indent + _STEP) + text(node)
            if len(inner) <= WIDTH:
                yield from (f"{pad}{before}(", inner, f"{pad})")
                return
        yield whole
        return
    if isinstance(node, ast.Call):
        head = f"{pad}{before}{text(node.func, _ATOM)}("
        inner = " " * (indent + _STEP) + ", ".join(_argument(each) for each in items(node))
        if len(inner) <= WIDTH:
            yield from (head, inner, f"{pad}){after}")
            return
        yield from _exploded(node, f"{before}{text(node.func, _ATOM)}(", f"){after}", indent)
    else:
        brackets = {ast.Tuple: "()", ast.List: "[]", ast.Dict: "{}"}[type(node)]
        yield from _exploded(node, before + brackets[0], brackets[1] + after, indent)


def _exploded(node: ast.expr, before: str, after: str, indent: int) -> Iterator[str]:
    pad = " " * indent
    yield pad + before
    found = items(node)
    lone = isinstance(node, ast.Call) and len(found) == 1
    for name, value in found:
        yield from laid(value, name, "" if lone else ",", indent + _STEP)
    yield pad + after


def _bare(node: ast.Tuple, before: str, after: str, indent: int) -> Iterator[str]:
    """A tuple without parentheses where it fits."""
    if len(node.elts) < 2:
        yield from laid(node, before, after, indent)
        return
    whole = " " * indent + before + ", ".join(text(each) for each in node.elts) + after
    if len(whole) <= WIDTH:
        yield whole
    else:
        yield from laid(node, before, after, indent)
