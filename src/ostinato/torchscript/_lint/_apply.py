"""Fixes made: the edits of many applied to one text, again until none is left."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable

from ._finding import Edit, Fix
from ._imports import added
from ._module import Module
from ._source import Source

_ROUNDS = 100  # each round takes at least one finding away; no file is nested more deeply


def fixed(source: Source, wanted: Callable[[Source], list[Fix]]) -> tuple[Source, int]:
    """The source with all fixes made that ``wanted`` gives for it, and their number.

    A fix that would leave no Python is not made.
    """
    count = 0
    for _ in range(_ROUNDS):
        fixes = wanted(source)
        after, made = _round(source, fixes)
        if not made:
            break
        source, count = after, count + made
    return source, count


def _round(source: Source, fixes: list[Fix]) -> tuple[Source, int]:
    together = _apart(fixes)
    after = _applied(source, together)
    if after is not None:
        return after, len(together)
    for fix in fixes:  # two that are right alone may leave nothing in a block
        after = _applied(source, [fix])
        if after is not None:
            return after, 1
    return source, 0


def _apart(fixes: Iterable[Fix]) -> list[Fix]:
    """The first of all fixes that touch the same text."""
    taken: list[Edit] = []
    chosen = []
    for fix in fixes:
        if not any(_touch(one, other) for one in fix.edits for other in taken):
            chosen.append(fix)
            taken += fix.edits
    return chosen


def _touch(one: Edit, other: Edit) -> bool:
    return (one.start < other.end and other.start < one.end) or one.start == other.start


def _applied(source: Source, fixes: list[Fix]) -> Source | None:
    """The source with the fixes made; None where that is no Python."""
    edits = [edit for fix in fixes for edit in fix.edits]
    statements = sorted({statement for fix in fixes for statement in fix.imports})
    if statements:
        edits += added(Module(source), statements)
    data = source.data
    for edit in sorted(edits, key=lambda each: (each.start, each.end), reverse=True):
        data = data[: edit.start] + edit.text.encode() + data[edit.end :]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(data.decode())
    except (SyntaxError, ValueError):
        return None
    return source.changed(data)
