"""Adagrad."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from ._fused import Fused, _widen_step


class Adagrad(Fused, torch.optim.Adagrad):
    """``torch.optim.Adagrad`` with one native call a group; the same arguments, state and results."""

    _stock: ClassVar[type[torch.optim.Optimizer]] = torch.optim.Adagrad
    _operator: ClassVar[str] = "adagrad_"
    _native_states: ClassVar[int] = 1

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for state in self._states.values():  # torch makes them at once
            _widen_step(state)
        self.__dict__["_state_given"] = False

    def _new_state(self, group: dict[str, Any], param: torch.Tensor) -> dict[str, torch.Tensor]:
        if self._states[param]:
            return {}
        start = self.defaults["initial_accumulator_value"]
        value = complex(start, start) if param.is_complex() else start
        total = torch.full_like(param, value, memory_format=torch.preserve_format)
        return {"step": torch.zeros((), dtype=torch.float64), "sum": total}

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("sum",)

    def _numbers(self, group: dict[str, Any], lr: float) -> list[float]:
        return [lr, *(float(group[k]) for k in ("lr_decay", "eps", "weight_decay"))]

    def _flags(self, group: dict[str, Any], first: bool) -> list[bool]:
        return [group["maximize"]]
