"""Patterns of operators: one description that is written into a graph, and compared with what is in one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch.fx import Graph, Node
from torch.fx.node import map_aggregate


class Slot(NamedTuple):
    """A place in a pattern for a value from outside."""

    name: str


@dataclass(frozen=True)
class Call:
    """An operator and its arguments, among which are other calls, slots, lists and plain values."""

    op: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)


def build(graph: Graph, pattern: Any, slots: Mapping[str, Node]) -> Any:
    """Write ``pattern`` at the insertion point of ``graph``; the node that gives its value."""
    if isinstance(pattern, Slot):
        return slots[pattern.name]
    if not isinstance(pattern, Call):
        return pattern
    args = tuple(build(graph, each, slots) for each in pattern.args)
    return call(graph, pattern.op, args, dict(pattern.kwargs))


def call(graph: Graph, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> Node:
    """A node with the value that ``op`` gives for those of its arguments."""
    node = graph.call_function(op, args, kwargs or {})
    with torch.no_grad():
        values = map_aggregate((args, kwargs or {}), lambda a: a.meta["val"] if isinstance(a, Node) else a)
        node.meta["val"] = op(*values[0], **values[1])  # type: ignore[index]
    return node


def arguments(node: Node) -> tuple[Any, ...]:
    """All arguments of an operator that has no defaults, in their order, however they were given."""
    rest = node.target._schema.arguments[len(node.args) :]  # type: ignore[union-attr]
    return (*node.args, *(node.kwargs[each.name] for each in rest))


def match(pattern: Any, found: Any, slots: dict[str, Node]) -> list[Node] | None:
    """The nodes that are ``pattern``, ``found`` being the last of them; None where it is anything else.

    ``slots`` holds what is known of them already, and gets what is found for the rest.
    """
    nodes: list[Node] = []
    return nodes if _match(pattern, found, slots, nodes) else None


def _match(pattern: Any, found: Any, slots: dict[str, Node], nodes: list[Node]) -> bool:
    if isinstance(pattern, Slot):
        return isinstance(found, Node) and slots.setdefault(pattern.name, found) is found
    if not isinstance(pattern, Call):
        return _same(pattern, found)
    if not isinstance(found, Node) or found.op != "call_function" or found.target != pattern.op:
        return False
    if len(found.args) != len(pattern.args) or found.kwargs.keys() != pattern.kwargs.keys():
        return False
    nodes.append(found)
    pairs = [*zip(pattern.args, found.args, strict=True)]
    pairs += [(each, found.kwargs[name]) for name, each in pattern.kwargs.items()]
    return all(_match(a, b, slots, nodes) for a, b in pairs)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)):
        return (
            isinstance(b, (list, tuple))
            and len(a) == len(b)
            and all(_same(*each) for each in zip(a, b, strict=True))
        )
    return type(a) is type(b) and bool(a == b)


__all__ = ["Call", "Slot", "arguments", "build", "call", "match"]
