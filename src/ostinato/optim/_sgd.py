"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from .. import _native
from ._batch import Batch
from ._fused import Fused


class SGD(Fused, torch.optim.SGD):
    """``torch.optim.SGD`` with one native call a group; the same arguments, state and results."""

    _stock: ClassVar[type[torch.optim.Optimizer]] = torch.optim.SGD
    _keeps_state: ClassVar[bool] = False
    _first_differs: ClassVar[bool] = True  # the momentum starts as the gradient, not as zero

    def _new_state(self, group: dict[str, Any], param: torch.Tensor) -> dict[str, torch.Tensor]:
        if group["momentum"] == 0 or self.state[param].get("momentum_buffer") is not None:
            return {}
        return {"momentum_buffer": torch.zeros_like(param, memory_format=torch.preserve_format)}

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] != 0 else ()

    def _update(self, group: dict[str, Any], batch: Batch, common: tuple[Any, ...]) -> None:
        _native.ops().sgd_(
            batch.reals,
            batch.grads,
            batch.states[0] if batch.states else [],
            *common,
            float(group["momentum"]),
            float(group["dampening"]),
            float(group["weight_decay"]),
            group["nesterov"],
            group["maximize"],
            batch.first,
        )
