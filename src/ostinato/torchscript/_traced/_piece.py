"""A branch or a round of a loop as a graph of its own, with what it takes from around it as arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._higher_order_ops.utils import reenter_make_fx


class Piece:
    """The graph of ``run``, which is called once, while ``around`` are known as arguments.

    ``run`` gives a list of values; those that are tensors are outputs, all others (``values``) stay as they
    are. ``operands`` are the tensors and sizes that the graph really takes.
    """

    def __init__(self, run: Callable[[], Sequence[Any]], around: Sequence[Any]) -> None:
        self.values: list[Any] = []

        def traced(*_: Any) -> list[torch.Tensor]:
            self.values = list(run())
            return [each for each in self.values if isinstance(each, torch.Tensor)]

        graph_module = reenter_make_fx(traced)(*around)
        self._module: torch.fx.GraphModule = graph_module
        arguments = list(around)
        graph = graph_module.graph
        graph.eliminate_dead_code()  # also what asks a tensor for its sizes
        placeholders = [node for node in graph.nodes if node.op == "placeholder"]
        used = {id(value) for node, value in zip(placeholders, arguments, strict=True) if node.users}
        first = next(node for node in graph.nodes if node.op != "placeholder")
        for node in list(graph.nodes):
            held = getattr(graph_module, str(node.target), None) if node.op == "get_attr" else None
            if isinstance(held, torch.Tensor):
                with graph.inserting_before(first):
                    made = graph.placeholder(f"held_{len(arguments)}")
                made.meta = dict(node.meta)
                node.replace_all_uses_with(made)
                graph.erase_node(node)
                arguments.append(held)
                used.add(id(held))
        graph_module.recompile()
        self._arguments = arguments
        self.operands = [each for each in arguments if id(each) in used]

    def __call__(self, known: dict[int, Any]) -> list[Any]:
        """The values, computed anew: ``known`` has the present operands by the identity of the former."""
        results = iter(self._module(*[known.get(id(each)) for each in self._arguments]))
        return [next(results) if isinstance(each, torch.Tensor) else each for each in self.values]


def united(pieces: Sequence[Piece]) -> list[Any]:
    """The operands of several pieces, each once."""
    return list({id(each): each for piece in pieces for each in piece.operands}.values())
