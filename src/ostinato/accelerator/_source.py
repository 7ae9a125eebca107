"""Which line of the user's code is running."""

from __future__ import annotations

import os
import sys

import torch

_OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep
_TORCH = os.path.dirname(torch.__file__) + os.sep


def user_line() -> tuple[str, int]:
    """File and line of the innermost frame that is neither torch's nor ours."""
    frame = sys._getframe(1)
    inner = (frame.f_code.co_filename, frame.f_lineno)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_OWN) and not name.startswith(_TORCH):
            return name, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return inner


def text(where: tuple[str, int]) -> str:
    return f"{where[0]}:{where[1]}"


def stepping_optimizer() -> str | None:
    """The class of the optimizer whose ``step`` is running, if one is."""
    frame = sys._getframe(1)
    while frame is not None:
        own = frame.f_locals.get("self") if frame.f_code.co_name == "step" else None
        if isinstance(own, torch.optim.Optimizer):
            return type(own).__name__
        frame = frame.f_back  # type: ignore[assignment]
    return None
