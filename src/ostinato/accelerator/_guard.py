"""What must not see the steps of a replay: autograd and autocast, which the capture has seen already."""

from __future__ import annotations

from typing import Any

import torch

_KEY = torch._C.DispatchKey
# Everything above the version counters: these saw the captured code, and its steps are what they made of it.
_ABOVE = torch._C._dispatch_keyset_full() - torch._C._dispatch_keyset_full_after(_KEY.ADInplaceOrView)
_EXCLUDED = _ABOVE.remove(_KEY.ADInplaceOrView)


def below_autograd() -> Any:
    """A context in which operators run as they did below a capture's recorder."""
    return torch._C._ExcludeDispatchKeyGuard(_EXCLUDED)
