"""Adagrad."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from .. import _native
from ._batch import Batch
from ._fused import Fused, _widen_step


class Adagrad(Fused, torch.optim.Adagrad):
    """``torch.optim.Adagrad`` with one native call a group; the same arguments, state and results."""

    _stock: ClassVar[type[torch.optim.Optimizer]] = torch.optim.Adagrad

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for state in self.state.values():  # torch makes them at once
            _widen_step(state)

    def _new_state(self, group: dict[str, Any], param: torch.Tensor) -> dict[str, torch.Tensor]:
        if self.state[param]:
            return {}
        start = self.defaults["initial_accumulator_value"]
        value = complex(start, start) if param.is_complex() else start
        total = torch.full_like(param, value, memory_format=torch.preserve_format)
        return {"step": torch.zeros((), dtype=torch.float64), "sum": total}

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("sum",)

    def _update(self, group: dict[str, Any], batch: Batch, common: tuple[Any, ...]) -> None:
        _native.ops().adagrad_(
            batch.reals,
            batch.grads,
            batch.states[0],
            batch.steps,
            *common,
            float(group["lr_decay"]),
            float(group["eps"]),
            float(group["weight_decay"]),
            group["maximize"],
        )
