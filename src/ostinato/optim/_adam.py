"""Adam, and Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from ._fused import Fused


class _Adam(Fused):
    _operator: ClassVar[str] = "adam_"
    _native_states: ClassVar[int] = 3

    def _new_state(self, group: dict[str, Any], param: torch.Tensor) -> dict[str, torch.Tensor]:
        state = self._states[param]
        made = {} if "step" in state else {"step": torch.zeros((), dtype=torch.float64)}
        for name in self._state_names(group):
            if name not in state:
                made[name] = torch.zeros_like(param, memory_format=torch.preserve_format)
        return made

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        averages = ("exp_avg", "exp_avg_sq")
        return (*averages, "max_exp_avg_sq") if group["amsgrad"] else averages

    def _numbers(self, group: dict[str, Any], lr: float) -> list[float]:
        return [lr, *map(float, group["betas"]), float(group["eps"]), float(group["weight_decay"])]

    def _flags(self, group: dict[str, Any], first: bool) -> list[bool]:
        return [group["decoupled_weight_decay"], group["maximize"]]


class Adam(_Adam, torch.optim.Adam):
    """``torch.optim.Adam`` with one native call a group; the same arguments, state and results."""

    _stock: ClassVar[type[torch.optim.Optimizer]] = torch.optim.Adam


class AdamW(_Adam, torch.optim.AdamW):
    """``torch.optim.AdamW`` with one native call a group; the same arguments, state and results."""

    _stock: ClassVar[type[torch.optim.Optimizer]] = torch.optim.AdamW
