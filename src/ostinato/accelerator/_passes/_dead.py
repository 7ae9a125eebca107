"""Drops nodes whose results nobody reads."""

from __future__ import annotations

import collections

from .._memory import touched
from .._program import AnyNode, ConstantNode, FusedNode, Node, Program, changed, made
from ._context import Context


def apply(program: Program, context: Context) -> None:
    """One walk from the end: a node stays where it has an effect, or makes or changes what is read later."""
    needed: set[int] = set()
    kept: list[AnyNode] = []
    makers = collections.Counter(number for node in program.nodes for number in made(node))
    for node in reversed(program.nodes):
        if not _has_effect(node, context) and not changed(node) & needed:
            continue
        kept.append(node)
        # What several nodes make, each a part of it, is not yet whole before the last of them.
        whole = {number for number in made(node) if makers[number] == 1}
        needed -= whole
        needed |= touched(node) - whole
    program.nodes = kept[::-1]


def _has_effect(node: AnyNode, context: Context) -> bool:
    """Whether ``node`` does what can be seen without reading its results."""
    if any(context.held(number) for number in changed(node)):
        return True
    if isinstance(node, ConstantNode):
        return False
    if isinstance(node, FusedNode):
        return False
    # A random node moves the generator, a check raises, a custom operator may do anything.
    return not isinstance(node, Node) or node.random or not node.op._schema.returns or not _known(node)


def _known(node: Node) -> bool:
    return node.op.namespace in ("aten", "prims")
