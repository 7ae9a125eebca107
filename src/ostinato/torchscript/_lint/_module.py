"""A parsed module with what fixes ask of it: parents, statements, names that are free."""

from __future__ import annotations

import ast
import functools
import warnings
from collections.abc import Iterator

from ._finding import Edit
from ._names import Names, Scope, children
from ._source import Source

# What may stand in a larger expression without parentheses.
_ATOMS: tuple[type[ast.expr], ...] = (
    *(ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant, ast.JoinedStr, ast.List, ast.Dict),
    *(ast.Set, ast.Tuple, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
# What may not even stand alone without them everywhere.
_NEVER_ALONE = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Starred)


class Module:
    """One file of Python. SyntaxError and its like where it is none."""

    def __init__(self, source: Source) -> None:
        self.source = source
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes in the texts of others
            self.tree = ast.parse(source.text)
        self.names = Names(self.tree)

    @functools.cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of each node."""
        found: dict[ast.AST, ast.AST] = {}
        ahead: list[ast.AST] = [self.tree]
        while ahead:
            node = ahead.pop()
            for child in children(node):
                found[child] = node
                ahead.append(child)
        return found

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The parent of a node, None for the module and for what stands in a text."""
        return self.parents.get(node)

    def call(self, node: ast.expr) -> ast.Call | None:
        """The call that ``node`` is the function of."""
        parent = self.parent(node)
        return parent if isinstance(parent, ast.Call) and parent.func is node else None

    @functools.cached_property
    def ends_in_all(self) -> frozenset[str]:
        """The names that ``__all__`` lists."""
        found: set[str] = set()
        for statement in self.tree.body:
            if any(isinstance(each, ast.Name) and each.id == "__all__" for each in ast.walk(statement)):
                found |= {str(each.value) for each in ast.walk(statement) if isinstance(each, ast.Constant)}
        return frozenset(found)

    def reference(
        self, package: str, name: str, statement: str, scope: Scope
    ) -> tuple[str, tuple[str, ...]] | None:
        """How to write the module ``package`` in ``scope`` as ``name``, and the import that it takes.

        None where that name means something else there.
        """
        if self.names.stands_for(name, package, scope):
            return name, ()
        return (name, (statement,)) if scope.find(name) is None else None

    # ---- edits ----

    def operand(self, node: ast.expr, alone: bool = False) -> str:
        """The text of an expression, in parentheses where another place may need them."""
        text = self.source.cut(node)
        if isinstance(node, ast.Constant) and not isinstance(node.value, str):
            plain = alone or isinstance(node.value, (bool, type(None)))  # 1.real is no attribute of 1
        else:
            plain = isinstance(node, _ATOMS) or (alone and not isinstance(node, _NEVER_ALONE))
        return text if plain and "\n" not in text and "\r" not in text else f"({text})"

    def without(self, statement: ast.stmt) -> Edit | None:
        """The edit that removes a statement, None where it shares its line with others."""
        block = self.block(statement)
        if block is None:
            return None
        first, last = first_line(statement), statement.end_lineno or statement.lineno
        return self.without_lines(statement, first, last, len(block) == 1)

    def without_lines(self, node: ast.stmt, first: int, last: int, leaves_nothing: bool) -> Edit | None:
        """The same for lines, which end with ``node``; ``pass`` stands in where a block would be empty."""
        start, end = self.source.offset(first, 0), self.source.offset(last + 1, 0)
        indent = self.indent(first)
        before = self.source.data[start : self.source.offset(first, len(indent))]
        after = self.source.data[self.source.end(node) : end].strip()
        if before.strip() or (after and not after.startswith(b"#")):
            return None
        if node.lineno == first and node.col_offset != len(indent):
            return None
        text = f"{indent}pass{self.source.newline.decode()}" if leaves_nothing else ""
        return Edit(start, end, text)

    def indent(self, line: int) -> str:
        """The white space that a line begins with."""
        text = self.source.line(line)
        return text[: len(text) - len(text.lstrip(" \t\f"))]

    def block(self, statement: ast.stmt) -> list[ast.stmt] | None:
        """The statements among which ``statement`` stands."""
        return next((block for block in blocks(self.parent(statement)) if statement in block), None)


def blocks(node: ast.AST | None) -> Iterator[list[ast.stmt]]:
    """The lists of statements of a node."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list):
            yield block


def first_line(statement: ast.stmt) -> int:
    """Where a statement begins, with its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])
