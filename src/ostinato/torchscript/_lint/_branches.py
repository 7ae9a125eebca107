"""``torch.jit.is_scripting()`` is False in Python: what depends on it becomes the branch that is taken."""

from __future__ import annotations

import ast
import re

from ._finding import Edit, Fix
from ._module import Module
from ._names import Scope

_JOINT = re.compile(rb"(?:\s|\\\r?\n)*\b(?:and|or)\b(?:[ \t]|\\?\r?\n[ \t]*)*")
# What follows the test of an ``if`` whose body begins on a line of its own.
_COLON = re.compile(rb"[ \t)]*:[ \t]*(#.*)?")
_TITLE = "keep the branch that Python takes"


def keep_branch(module: Module, node: ast.expr, scope: Scope) -> Fix | None:
    """The fix of a call of is_scripting: the call is False, and so on outwards as far as that decides."""
    call = module.call(node)
    if call is None or call.args or call.keywords:
        return None
    edits = _decide(module, call, False)
    return None if edits is None else Fix(_TITLE, edits, unless="scripting")


def _decide(module: Module, node: ast.expr, value: bool) -> tuple[Edit, ...] | None:
    """The edits for ``node``, which is always ``value``."""
    parent = module.parent(node)
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
        return _decide(module, parent, not value)
    if isinstance(parent, ast.BoolOp):
        neutral = isinstance(parent.op, ast.And) is value
        if neutral:
            edit = _without_operand(module, parent, node)
            if edit is not None:
                return (edit,)
        elif parent.values[0] is node or _is_decided(module, parent, node):
            return _decide(module, parent, value)
    elif isinstance(parent, ast.IfExp) and parent.test is node:
        alone = isinstance(module.parent(parent), (ast.Assign, ast.AnnAssign, ast.Return, ast.keyword))
        kept = module.operand(parent.body if value else parent.orelse, alone)
        return (Edit(module.source.start(parent), module.source.end(parent), kept),)
    elif isinstance(parent, ast.If) and parent.test is node:
        edits = _without_if(module, parent, value)
        if edits is not None:
            return edits
    return (Edit(module.source.start(node), module.source.end(node), str(value)),)


def _is_decided(module: Module, whole: ast.BoolOp, node: ast.expr) -> bool:
    """Whether what stands before ``node`` neither does anything nor is the value of the chain."""
    before = whole.values[: whole.values.index(node)]
    plain = [each.operand if isinstance(each, ast.UnaryOp) else each for each in before]
    return _is_condition(module, whole) and all(isinstance(each, (ast.Name, ast.Constant)) for each in plain)


def _without_operand(module: Module, whole: ast.BoolOp, node: ast.expr) -> Edit | None:
    """Remove ``node`` from a chain of ``and`` or ``or`` that it does not change."""
    source, at = module.source, whole.values.index(node)
    if at + 1 < len(whole.values):
        joint = _JOINT.match(source.data, source.end(node))
        # A parenthesis around the operand alone would be left open: the joint must follow at once.
        return Edit(source.start(node), joint.end()) if joint else None
    if not _is_condition(module, whole):
        return None  # the last operand is the value of the chain
    before = whole.values[at - 1]
    joint = _JOINT.fullmatch(source.data, source.end(before), source.start(node))
    return Edit(source.end(before), source.end(node)) if joint else None


def _is_condition(module: Module, node: ast.expr) -> bool:
    """Whether only the truth of ``node`` matters."""
    parent = module.parent(node)
    if isinstance(parent, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return parent.test is node
    if isinstance(parent, ast.UnaryOp):
        return isinstance(parent.op, ast.Not)
    return isinstance(parent, ast.BoolOp) and _is_condition(module, parent)


def _without_if(module: Module, node: ast.If, value: bool) -> tuple[Edit, ...] | None:
    """Leave of a statement what runs; None where its text is not laid out in plain lines."""
    layout = _Layout(module, node)
    # A generator stays one even if its only yield never runs.
    dead = node.orelse if value else node.body
    if not layout.plain or any(
        isinstance(each, (ast.Yield, ast.YieldFrom)) for part in dead for each in ast.walk(part)
    ):
        return None
    if layout.is_elif:
        return layout.end_with_body() if value else layout.drop_elif()
    return layout.only(node.body) if value else layout.only(node.orelse)


class _Layout:
    """Where the parts of an ``if`` statement lie, in whole lines."""

    def __init__(self, module: Module, node: ast.If) -> None:
        self.module = module
        self.node = node
        source = module.source
        self.first = node.lineno
        self.last = node.end_lineno or node.lineno
        self.indent = module.indent(self.first)
        head = source.line(self.first)[len(self.indent) :]
        self.is_elif = head.startswith("elif")
        self.head_end = node.test.end_lineno or self.first
        self.body_end = node.body[-1].end_lineno or self.last
        self.else_line = self._else_line()
        rest = source.data[source.end(node.test) : source.offset(self.head_end + 1, 0)]
        self.plain = (
            _COLON.fullmatch(rest.rstrip()) is not None
            and node.body[0].lineno > self.head_end
            and self._is_tail_clean()
            and (not node.orelse or self.else_line > 0)
        )

    def _is_tail_clean(self) -> bool:
        """Nothing but a comment after the last statements, which would share their line."""
        source = self.module.source
        ends = [self.node.body[-1], *self.node.orelse[-1:]]
        rests = [
            source.line(each.end_lineno or 0).encode()[each.end_col_offset or 0 :].strip() for each in ends
        ]
        return all(not rest or rest.startswith(b"#") for rest in rests)

    def _else_line(self) -> int:
        """The line of ``else:`` or ``elif``; 0 where it is not alone on one."""
        if not self.node.orelse:
            return 0
        for number in range(self.body_end + 1, self.node.orelse[0].lineno + 1):
            text = self.module.source.line(number)
            if text.startswith(self.indent + "elif") and self._is_chain():
                return number
            if re.fullmatch(re.escape(self.indent) + r"else\s*:\s*(#.*)?", text):
                return number
        return 0

    def _is_chain(self) -> bool:
        """Whether what follows is an ``elif``."""
        (first, *others) = self.node.orelse
        return isinstance(first, ast.If) and not others and first.col_offset == self.node.col_offset

    def _edit(self, first: int, last: int, text: str = "") -> Edit:
        source = self.module.source
        return Edit(source.offset(first, 0), source.offset(last + 1, 0), text)

    def only(self, kept: list[ast.stmt]) -> tuple[Edit, ...] | None:
        """Replace the whole statement by some of it."""
        if not kept:
            block = self.module.block(self.node) or []
            if len(block) > 1:
                return (self._edit(self.first, self.last),)
            return (
                self._edit(self.first, self.last, f"{self.indent}pass{self.module.source.newline.decode()}"),
            )
        if kept is self.node.orelse and self._is_chain():
            line = self.module.source.line(self.else_line)
            rest = line[len(self.indent) + len("el") :] + self.module.source.newline.decode()
            return (self._edit(self.first, self.else_line, self.indent + rest),)
        first = self.head_end + 1 if kept is self.node.body else self.else_line + 1
        last = self.body_end if kept is self.node.body else self.last
        text = self._shifted(first, last, kept)
        return None if text is None else (self._edit(self.first, self.last, text),)

    def drop_elif(self) -> tuple[Edit, ...] | None:
        """Remove this branch of a chain."""
        return (self._edit(self.first, self.else_line - 1 if self.else_line else self.last),)

    def end_with_body(self) -> tuple[Edit, ...] | None:
        """Make this branch of a chain the ``else``."""
        newline = self.module.source.newline.decode()
        head = self._edit(self.first, self.head_end, f"{self.indent}else:{newline}")
        return (head, self._edit(self.else_line, self.last)) if self.else_line else (head,)

    def _shifted(self, first: int, last: int, kept: list[ast.stmt]) -> str | None:
        """The lines of ``kept`` as far left as the statement; None where that would change a text."""
        for statement in kept:
            for each in ast.walk(statement):
                if isinstance(each, (ast.Constant, ast.JoinedStr)) and each.end_lineno != each.lineno:
                    return None
        inner = self.module.indent(kept[0].lineno)
        if not inner.startswith(self.indent):
            return None
        moved = []
        for number in range(first, last + 1):
            line = self.module.source.lines[number - 1].decode()
            moved.append(self.indent + line[len(inner) :] if line.startswith(inner) else line)
        return "".join(moved)
