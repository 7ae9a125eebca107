"""Whether two results are the same: kinds, shapes, dtypes and bits, floats within a tolerance where asked."""

from __future__ import annotations

import enum
import math
from typing import Any

import torch


def same(ours: Any, theirs: Any, rtol: float = 0.0) -> None:
    """Raises AssertionError where what Ostinato gives is not what TorchScript gives."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, torch.Tensor)
        torch.testing.assert_close(ours, theirs, rtol=rtol, atol=rtol, equal_nan=True)
    elif isinstance(theirs, (list, tuple)):
        assert isinstance(ours, list if isinstance(theirs, list) else tuple)
        assert len(ours) == len(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            same(mine, other, rtol)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            same(ours[key], theirs[key], rtol)
    elif isinstance(theirs, enum.Enum):
        assert (ours.name, ours.value) == (theirs.name, theirs.value)
    else:
        assert type(ours) is type(theirs)
        close = isinstance(theirs, float) and math.isclose(ours, theirs, rel_tol=max(rtol, 0.0))
        assert (
            ours == theirs or close or (isinstance(theirs, float) and math.isnan(ours) and math.isnan(theirs))
        )
