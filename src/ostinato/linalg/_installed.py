"""What stands at ``torch.linalg.eigh`` and ``eigvalsh`` after ``ost.install()``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torch import Tensor

from . import _eigh


def eigh(original: Callable[..., Any]) -> Callable[..., Any]:
    return _on_cpu(original, _eigh.eigh)


def eigvalsh(original: Callable[..., Any]) -> Callable[..., Any]:
    return _on_cpu(original, _eigh.eigvalsh)


def _on_cpu(original: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """``ours`` for tensors of the CPU that are nothing else; the original for all that it knows besides."""

    @functools.wraps(original)
    def call(A: Any, UPLO: str = "L", **options: Any) -> Any:
        if type(A) is Tensor and A.is_cpu:
            return ours(A, UPLO, **options)
        return original(A, UPLO, **options)

    return call
