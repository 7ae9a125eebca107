"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from ._fused import Fused


class SGD(Fused, torch.optim.SGD):
    """``torch.optim.SGD`` with one native call a group; the same arguments, state and results."""

    _stock: ClassVar[type[torch.optim.Optimizer]] = torch.optim.SGD
    _operator: ClassVar[str] = "sgd_"
    _native_states: ClassVar[int] = 1
    _keeps_state: ClassVar[bool] = False
    _first_differs: ClassVar[bool] = True  # the momentum starts as the gradient, not as zero

    def _new_state(self, group: dict[str, Any], param: torch.Tensor) -> dict[str, torch.Tensor]:
        if group["momentum"] == 0 or self._states[param].get("momentum_buffer") is not None:
            return {}
        return {"momentum_buffer": torch.zeros_like(param, memory_format=torch.preserve_format)}

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] != 0 else ()

    def _numbers(self, group: dict[str, Any], lr: float) -> list[float]:
        return [lr, *(float(group[k]) for k in ("momentum", "dampening", "weight_decay"))]

    def _flags(self, group: dict[str, Any], first: bool) -> list[bool]:
        return [group["nesterov"], group["maximize"], first]
