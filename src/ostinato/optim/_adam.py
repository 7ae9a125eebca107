"""Adam, and Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from .. import _native
from ._batch import Batch
from ._fused import Fused


class _Adam(Fused):
    def _new_state(self, group: dict[str, Any], param: torch.Tensor) -> dict[str, torch.Tensor]:
        state = self.state[param]
        made = {} if "step" in state else {"step": torch.zeros((), dtype=torch.float64)}
        for name in self._state_names(group):
            if name not in state:
                made[name] = torch.zeros_like(param, memory_format=torch.preserve_format)
        return made

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        averages = ("exp_avg", "exp_avg_sq")
        return (*averages, "max_exp_avg_sq") if group["amsgrad"] else averages

    def _update(self, group: dict[str, Any], batch: Batch, common: tuple[Any, ...]) -> None:
        beta1, beta2 = group["betas"]
        averages, squares, *largest = batch.states
        _native.ops().adam_(
            batch.reals,
            batch.grads,
            averages,
            squares,
            largest[0] if largest else [],
            batch.steps,
            *common,
            float(beta1),
            float(beta2),
            float(group["eps"]),
            float(group["weight_decay"]),
            group["decoupled_weight_decay"],
            group["maximize"],
        )


class Adam(_Adam, torch.optim.Adam):
    """``torch.optim.Adam`` with one native call a group; the same arguments, state and results."""

    _stock: ClassVar[type[torch.optim.Optimizer]] = torch.optim.Adam


class AdamW(_Adam, torch.optim.AdamW):
    """``torch.optim.AdamW`` with one native call a group; the same arguments, state and results."""

    _stock: ClassVar[type[torch.optim.Optimizer]] = torch.optim.AdamW
