"""The findings of one file of Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ._finding import Finding, Fix
from ._fixes import FIXERS, without_dynamo
from ._imports import remove_import
from ._match import BY_ID, match
from ._module import Module
from ._names import Import
from ._rules import MADE, Rule
from ._source import Source
from ._type_comments import type_comments

# A file without the first and one of the others holds nothing that is looked for, and is not parsed.
_ALWAYS = b"torch"
_ONE_OF = (
    *(b"jit", b"to_torchscript", b"mobile_optimizer", b"bundled_inputs", b"lite_interpreter", b"model_dump"),
    *(b"_nnapi", b"torch._C", b"import _C", b"__constants__", b"ScriptM", b"ScriptF", b"CompilationUnit"),
)
_OLD_ONNX = (b"dynamo", b"symbolic", b"utils")
_TYPE_COMMENT = re.compile(rb"#\s*type:\s*\(")

_ONNX_EXPORT = "torch.onnx.export"


def may_use_torchscript(data: bytes) -> bool:
    """Whether the file must be parsed."""
    if _ALWAYS not in data:
        return False
    if any(each in data for each in _ONE_OF) or _TYPE_COMMENT.search(data):
        return True
    return b"onnx" in data and any(each in data for each in _OLD_ONNX)


def check_python(path: str, source: Source) -> list[Finding]:
    """What a file holds, in order. SyntaxError, ValueError or RecursionError where it cannot be parsed."""
    module = Module(source)
    checker = _Checker(path, module)
    found = [*checker.uses(), *checker.imports(), *checker.comments()]
    unique = {(each.line, each.column, each.rule): each for each in found}
    return [unique[key] for key in sorted(unique)]


class _Checker:
    def __init__(self, path: str, module: Module) -> None:
        self.path = path
        self.module = module
        self.used: set[tuple[str, str]] = set()  # the name that each use begins with, and its path

    def uses(self) -> Iterator[Finding]:
        """Names and attributes."""
        for use, meaning in self.module.names.uses():
            hit = match(meaning.path)
            if hit is None:
                continue
            rule, symbol = hit
            self.used.add((_root(use.node), meaning.path))
            node = _trimmed(use.node, meaning.path.count(".") - symbol.count("."))
            if symbol == _ONNX_EXPORT and without_dynamo(self.module.call(node)) is None:
                continue
            named = meaning.certain and use.at is None and not symbol.startswith("?")
            fixer = FIXERS.get(rule.id) if named else None
            fix = fixer(self.module, node, use.scope) if fixer else None
            yield self._finding(rule, _shown(symbol), use.at or node, fix)

    def imports(self) -> Iterator[Finding]:
        """Imports of what nothing here uses; the others are told by their uses."""
        for each in self.module.names.imports:
            if match(each.path) and each.path != _ONNX_EXPORT and not self._is_used(each):
                fix = remove_import(self.module, each, self.path)
                yield self._finding(BY_ID["OST100"], each.path, each.alias, fix)

    def _is_used(self, found: Import) -> bool:
        return any(
            (path + ".").startswith(found.path + ".") and (root == found.bound or found.bound == "*")
            for root, path in self.used
        )

    def comments(self) -> Iterator[Finding]:
        """Signatures in comments."""
        if not _TYPE_COMMENT.search(self.module.source.data) or not self._knows_torch():
            return
        for line, column, text, fix in type_comments(self.module):
            if "Tensor" in text or self.used:
                end = column + len(text.rstrip())
                place = (line, column + 1, line, end + 1)
                yield self._at(BY_ID["OST123"], "# type:", place, fix)

    def _knows_torch(self) -> bool:
        return any(each.path.split(".")[0] == "torch" for each in self.module.names.imports)

    def _finding(self, rule: Rule, symbol: str, node: ast.expr | ast.alias, fix: Fix | None) -> Finding:
        source = self.module.source
        place = (*source.place(source.start(node)), *source.place(source.end(node)))
        return self._at(rule, symbol, place, fix)

    def _at(self, rule: Rule, symbol: str, place: tuple[int, int, int, int], fix: Fix | None) -> Finding:
        return finding(self.path, rule, symbol, place, self.module.source.line(place[0]), fix)


def finding(
    path: str, rule: Rule, symbol: str, place: tuple[int, int, int, int], source: str, fix: Fix | None = None
) -> Finding:
    """A finding in the words of its rule."""
    message = f"{symbol} {rule.title.removeprefix('C++: ')}"
    return Finding(path, *place, rule.id, rule.severity, symbol, message, rule.replacement, source, fix)


def _trimmed(node: ast.expr, count: int) -> ast.expr:
    """``node`` without its last attributes."""
    while count > 0 and isinstance(node, ast.Attribute):
        node, count = node.value, count - 1
    return node


def _shown(symbol: str) -> str:
    """A symbol as people write it."""
    return symbol.replace(MADE, "ScriptModule").replace("?.__", "__").replace("?.", ".")


def _root(node: ast.expr) -> str:
    """The name that an expression begins with."""
    while isinstance(node, (ast.Attribute, ast.Call)):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return node.id if isinstance(node, ast.Name) else ""
