"""``ost.install``: names of torch that reach Ostinato, so that code written for torch need not change."""

from __future__ import annotations

import importlib
import threading
from typing import Any

# A name in torch, and the function that makes what shall stand there: it gets what stands there
# now, or None where torch has no such name. A feature adds a line, and is imported by an install.
_NAMES = {
    "torch.accelerator.Graph": "ostinato.accelerator._installed:graph",
    "torch.accelerator.graph_pool_handle": "ostinato.accelerator._installed:graph_pool_handle",
    "torch.accelerator.is_capturing": "ostinato.accelerator._installed:is_capturing",
    "torch.accelerator.make_graphed_callables": "ostinato.accelerator._installed:make_graphed_callables",
    "torch.linalg.eigh": "ostinato.linalg._installed:eigh",
    "torch.linalg.eigvalsh": "ostinato.linalg._installed:eigvalsh",
    "torch.optim.adagrad._fused_adagrad": "ostinato.optim._installed:adagrad",
    "torch.optim.adam._fused_adam": "ostinato.optim._installed:adam",
    "torch.optim.sgd._fused_sgd": "ostinato.optim._installed:sgd",
}

_ABSENT = object()
_lock = threading.RLock()
_installed: dict[str, tuple[Any, Any]] = {}  # name in torch -> what stood there, what stands there now


def install() -> None:
    """Lets names of torch reach Ostinato on the CPU; what an accelerator does stays as it is.

    ``torch.accelerator.Graph`` then makes a graph of Ostinato's with ``device="cpu"``, with
    ``numerics=``, and wherever there is no accelerator. A second call does nothing. What
    has been imported from torch by name before (``from torch.accelerator import Graph``)
    stays what it was.
    """
    with _lock:
        missing = [name for name in _NAMES if name not in _installed]
        made = []
        for name in missing:  # all of them before any is put in place: an error leaves torch alone
            original = getattr(*_place(name), _ABSENT)
            module, _, maker = _NAMES[name].partition(":")
            make = getattr(importlib.import_module(module), maker)
            made.append((name, original, make(None if original is _ABSENT else original)))
        for name, original, replacement in made:
            setattr(*_place(name), replacement)
            _installed[name] = (original, replacement)


def uninstall() -> None:
    """Gives each name back what ``install`` found there.

    A name that somebody else has replaced since then is left to them.
    """
    with _lock:
        while _installed:
            name, (original, replacement) = _installed.popitem()
            owner, attribute = _place(name)
            now = getattr(owner, attribute, None)
            # The first torch.compile of a process wraps some of these functions, to keep out of them.
            within = getattr(now, "_torchdynamo_orig_callable", None)
            if now is not replacement and within is not replacement:
                continue
            if original is _ABSENT:
                delattr(owner, attribute)
            else:
                setattr(owner, attribute, original)


def _place(name: str) -> tuple[Any, str]:
    """The module that holds ``name``, and the attribute."""
    module, _, attribute = name.rpartition(".")
    return importlib.import_module(module), attribute
