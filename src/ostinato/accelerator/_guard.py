"""What a replay must not see of the world around it: autograd, autocast, modes, the default dtype."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

_KEY = torch._C.DispatchKey
# Everything above the version counters: these saw the captured code, and its steps are what they made of it.
_ABOVE = torch._C._dispatch_keyset_full() - torch._C._dispatch_keyset_full_after(_KEY.ADInplaceOrView)
_EXCLUDED = _ABOVE.remove(_KEY.ADInplaceOrView).add(_KEY.Python)


@contextlib.contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """``dtype`` for the default, which is no argument of any operator though many results depend on it."""
    now = torch.get_default_dtype()
    if now is dtype:
        yield
        return
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(now)


@contextlib.contextmanager
def grad_mode(on: bool) -> Iterator[None]:
    """Grad mode as it was at the capture: oneDNN's recurrent layers compute other last bits without it."""
    now = torch.is_grad_enabled()
    if now is on:
        yield
        return
    torch._C._set_grad_enabled(on)
    try:
        yield
    finally:
        torch._C._set_grad_enabled(now)


def below_autograd() -> Any:
    """A context in which operators run as they did below a capture's recorder."""
    return torch._C._ExcludeDispatchKeyGuard(_EXCLUDED)
