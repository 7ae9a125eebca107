"""``torch.cond`` in a CUDA capture: torch's own conditional nodes, or a refusal that says what is missing."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ..._errors import fail
from .._source import text, user_line

_NEEDED = (12, 4)  # the CUDA toolkit that brought IF nodes


def missing() -> str | None:
    """What keeps this torch from making conditional nodes, or None where it can."""
    if torch.version.cuda is None:
        return "it is not built for CUDA"
    if tuple(int(part) for part in torch.version.cuda.split(".")[:2]) < _NEEDED:
        return f"it is built with CUDA {torch.version.cuda}, and they came with 12.4"
    if not hasattr(torch._C._CUDAGraph, "begin_capture_to_if_node"):
        return "its CUDA graphs have none"
    return None


class ControlFlow(TorchDispatchMode):
    """Makes a ``torch.cond`` an IF node of the graph; refuses what CUDA's graphs of torch cannot hold."""

    # For torch: give this mode the operators of higher order, also those that dynamo has made.
    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if isinstance(func, torch._ops.HigherOrderOperator):
            why = missing() if func is torch.ops.higher_order.cond else "they take torch.cond alone"
            if why is not None:
                raise fail(
                    "accelerator.conditional_nodes", op=func.name(), where=text(user_line()), reason=why
                )
            from torch._higher_order_ops.cudagraph_conditional_nodes import if_else_node

            with self:  # the branches may hold conditions too
                return if_else_node(*args)
        return func(*args, **(kwargs or {}))
