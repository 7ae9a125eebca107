"""A program of a file as other runtimes take it: tensors in, tensors out, nothing kept between calls."""

from __future__ import annotations

from typing import Any

import torch

from ._program import Program


class Functional(torch.nn.Module):
    """Takes the tensors among ``leaves`` and the state; gives the results and the new state.

    ``example`` are the tensors to call it with. Other arguments are constants of it.
    """

    def __init__(self, program: Program, leaves: list[Any]) -> None:
        super().__init__()
        self._program = program._module
        state = [tensor for _, tensor in program._writes]
        given = [each for each in leaves if isinstance(each, torch.Tensor)]
        self.example: tuple[torch.Tensor, ...] = (*given, *(each.clone() for each in state))
        places = {id(tensor): len(given) + i for i, tensor in enumerate(state)}
        supply = iter(leaves)
        self._order = [self._place(next(supply) if b is None else b, given, places) for b in program._bound]
        self._kept = [*program._results, *(i for i, _ in program._writes)]
        self._kept += [i for i, _ in program._argument_writes]

    def _place(self, bound: Any, given: list[torch.Tensor], places: dict[int, int]) -> tuple[str, Any]:
        """How ``forward`` finds what the program is given at this place."""
        if not isinstance(bound, torch.Tensor):
            return "constant", bound
        for i, each in enumerate(given):
            if each is bound:
                return "input", i
        if id(bound) in places:
            return "input", places[id(bound)]
        name = f"weight{sum(1 for _ in self.buffers())}"
        self.register_buffer(name, bound.detach())
        return "weight", name

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        bound = [self._bound(kind, what, tensors) for kind, what in self._order]
        outputs = self._program(*bound)
        return tuple(outputs[i] for i in self._kept if isinstance(outputs[i], torch.Tensor))

    def _bound(self, kind: str, what: Any, tensors: tuple[torch.Tensor, ...]) -> Any:
        if kind == "input":
            return tensors[what]
        return getattr(self, what) if kind == "weight" else what
