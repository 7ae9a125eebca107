"""What autograd notes inside one side of a condition, seen from outside as one function of some tensors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.autograd.graph import GradientEdge

from ._scopes import Scope

Edge = tuple[Any, int]  # a node of autograd, and which of its outputs' gradients


class Tape:
    """One side of a condition; ``parent`` is that side in the forward where this is a backward."""

    def __init__(self, parent: Tape | None = None) -> None:
        self.scopes: tuple[Scope, ...] = parent.scopes if parent else ()
        self.results: list[torch.Tensor] = []
        # Autograd numbers its nodes as it makes them: those of this side have numbers in these ranges.
        self._ranges: list[tuple[int, int]] = list(parent._ranges) if parent else []

    @contextlib.contextmanager
    def recording(self, scope: Scope) -> Iterator[None]:
        """What autograd notes here belongs to this side."""
        start = torch._C._autograd._get_sequence_nr()
        self.scopes = (*self.scopes, scope)
        try:
            yield
        finally:
            self._ranges.append((start, torch._C._autograd._get_sequence_nr()))

    def made(self, node: Any) -> bool:
        """Whether a node of autograd was made on this side."""
        number = node._sequence_nr()
        return any(first <= number < end for first, end in self._ranges)

    def sources(self) -> dict[Edge, torch.Tensor | None]:
        """Where gradients of the results leave this side, and the tensors whose gradients they are."""
        seen, found = set(), {}
        pending = [_edge(result) for result in self.results if result.requires_grad]
        known = {_edge(result): result for result in self.results if result.requires_grad}
        for scope in self.scopes:
            known.update(scope.sources)
        while pending:
            edge = pending.pop()
            node, _ = edge
            if not self.made(node):
                found[edge] = getattr(node, "variable", known.get(edge))
            elif node not in seen:
                seen.add(node)
                pending += [(after, nr) for after, nr in node.next_functions if after is not None]
        return found

    def gradients(
        self, edges: Sequence[Edge], grads: Sequence[torch.Tensor | None]
    ) -> tuple[torch.Tensor | None, ...]:
        """The gradients at ``edges``, given those of the results."""
        given = [
            (r, g) for r, g in zip(self.results, grads, strict=True) if g is not None and r.requires_grad
        ]
        if not given:
            return (None,) * len(edges)
        return torch.autograd.grad(
            [r for r, _ in given],
            [GradientEdge(node, nr) for node, nr in edges],
            [g for _, g in given],
            retain_graph=True,
            create_graph=torch.is_grad_enabled(),
            allow_unused=True,
        )


def _edge(tensor: torch.Tensor) -> Edge:
    edge = torch.autograd.graph.get_gradient_edge(tensor)
    return edge.node, edge.output_nr


@contextlib.contextmanager
def hooks_off(tensors: Sequence[torch.Tensor]) -> Iterator[None]:
    """Keeps the hooks of ``tensors`` for when their gradient is whole: one condition gives a part of it."""
    hooks = [t._backward_hooks for t in tensors if t._backward_hooks]
    kept = [dict(h) for h in hooks]
    for table in hooks:
        table.clear()
    try:
        yield
    finally:
        for table, entries in zip(hooks, kept, strict=True):
            table.update(entries)
