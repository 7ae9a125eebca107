"""What autograd notes inside one side of a condition, seen from outside as one function of some tensors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.autograd.graph import GradientEdge
from torch.utils._python_dispatch import _disable_current_modes

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
        with _ending_at(edges):
            return torch.autograd.grad(
                [r for r, _ in given],
                [GradientEdge(node, nr) for node, nr in edges],
                [g for _, g in given],
                retain_graph=True,
                create_graph=torch.is_grad_enabled(),
                allow_unused=True,
            )


def _edge(tensor: torch.Tensor) -> Edge:
    if tensor.grad_fn is not None:
        return tensor.grad_fn, tensor.output_nr
    with _disable_current_modes():  # a leaf: it is looked at for this, which shall not be recorded
        edge = torch.autograd.graph.get_gradient_edge(tensor)
    return edge.node, edge.output_nr


@contextlib.contextmanager
def _ending_at(edges: Sequence[Edge]) -> Iterator[None]:
    """Lets gradients go no further than ``edges``, though one of them may lead to another."""
    with contextlib.ExitStack() as stack:
        for node in {node for node, _ in edges if not hasattr(node, "variable")}:
            hook = node.register_prehook(lambda grads: (None,) * len(grads))
            stack.callback(hook.remove)
        yield


def meet_in_custom_code(edges: Sequence[Edge], harmless: str) -> bool:
    """Whether an edge leads to another through an ``autograd.Function``, which takes no gradient for zeros.

    ``harmless``: the name of the node of one that does not.
    """
    ends = {node for node, _ in edges}
    for start in ends:
        seen, pending, custom = {start}, [start], False
        while pending:
            node = pending.pop()
            written = isinstance(node, torch.autograd.function.BackwardCFunction)
            custom = custom or (written and node.name() != harmless)
            after = {n for n, _ in node.next_functions if n is not None} - seen
            seen |= after
            pending += after
        if custom and seen & ends != {start}:
            return True
    return False


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
