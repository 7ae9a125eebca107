"""Loops and conditions in a graph beside the same in plain Python and in eager torch."""

from __future__ import annotations

from collections.abc import Callable

import torch

import ostinato as ost

from ._timing import alternate, show

_ROUNDS = 1000


def _loop(x: torch.Tensor) -> dict[str, Callable[[], object]]:
    """1000 rounds of a body of three operators."""
    zero = torch.zeros((), dtype=torch.int64)

    def test(i: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return i < _ROUNDS

    def body(i: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return i + 1, (y + x) * x

    def python() -> torch.Tensor:
        i, y = zero, x
        while test(i, y):
            i, y = body(i, y)
        return y

    graphs = _graphs(lambda: torch.while_loop(test, body, (zero, x)))
    return {"eager": python, **graphs}


def _condition(x: torch.Tensor) -> dict[str, Callable[[], object]]:
    pred = torch.tensor(True)
    graphs = _graphs(lambda: torch.cond(pred, torch.relu, torch.neg, (x,)))
    return {
        "eager": lambda: torch.relu(x) if pred else torch.neg(x),
        "torch.cond": lambda: torch.cond(pred, torch.relu, torch.neg, (x,)),
        **graphs,
    }


def _graphs(function: Callable[[], object]) -> dict[str, Callable[[], object]]:
    graphs = {}
    for numerics in ("exact", "fast"):
        graph = graphs[numerics] = ost.accelerator.Graph(numerics=numerics)
        with graph:
            function()
    return {name: graph.replay for name, graph in graphs.items()}


def main() -> None:
    """Prints a table for each kind of node; a loop's figures are those of all its rounds."""
    torch.set_num_threads(1)
    with torch.no_grad():
        loops = {f"{_ROUNDS} rounds, {n} numbers": alternate(_loop(torch.rand(n)), 7) for n in (4, 256)}
        show("while_loop", loops)
        show("cond", {f"{n} numbers": alternate(_condition(torch.rand(n))) for n in (4, 4096)})


if __name__ == "__main__":
    main()
