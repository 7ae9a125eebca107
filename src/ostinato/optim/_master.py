"""Float32 weights that an optimizer keeps beside parameters of a short format, so that small steps add up."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.weak import WeakTensorKeyDictionary

SHORT = (torch.bfloat16, torch.float16)


class Masters:
    """Where the parameters were written last, by which writes of others are noticed."""

    def __init__(self) -> None:
        self._written = WeakTensorKeyDictionary()

    def of(self, param: torch.Tensor, state: dict[str, Any]) -> torch.Tensor:
        """The float32 weights of a parameter; elements that somebody else wrote are taken over."""
        master = state.get("master")
        if master is None:
            master = state["master"] = param.detach().float()
        elif self._written.get(param) != _place(param):
            same = master.to(param.dtype) == param
            master = state["master"] = torch.where(same, master, param.detach().float())
        return master

    def write(self, params: list[torch.Tensor], masters: list[torch.Tensor]) -> None:
        """Rounds the weights to the parameters."""
        torch._foreach_copy_(params, masters)
        for param in params:
            self._written[param] = _place(param)


def _place(param: torch.Tensor) -> tuple[int, int]:
    return param._version, param.data_ptr()  # assignment of .data moves no version


def restore(saved: dict[str, Any], params: list[torch.Tensor], states: Any) -> None:
    """Puts float32 state of a state dict back, which torch rounds to the parameter's dtype as it loads."""
    numbers = [number for group in saved["param_groups"] for number in group["params"]]
    for number, param in zip(numbers, params, strict=True):
        for key, value in saved["state"].get(number, {}).items():
            wide = isinstance(value, torch.Tensor) and value.dtype is torch.float32 and key != "step"
            if wide and param.dtype in SHORT:
                states[param][key] = value.to(param.device, copy=True)
