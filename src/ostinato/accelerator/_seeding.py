"""Which thread moved the generator that all threads share."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import torch

_SEED = slice(0, 8)  # of a state's bytes
_setters: set[int] = set()  # threads that have set the generator since they were last asked about


class _Noting:
    """The default generator, as ``torch.random`` sees it while a capture is under way."""

    def __getattr__(self, name: str) -> Any:
        if name in ("manual_seed", "seed", "set_state"):
            _setters.add(threading.get_ident())
        return getattr(torch.default_generator, name)


@contextlib.contextmanager
def noting() -> Iterator[None]:
    """Lets ``torch.manual_seed``, ``set_rng_state`` and what calls them be noted, in all threads."""
    module: Any = torch.random
    original = module.default_generator
    module.default_generator = _Noting()
    try:
        yield
    finally:
        module.default_generator = original
        _setters.clear()


def drawn_elsewhere(generator: torch.Generator, before: bytes, now: bytes) -> bool:
    """Whether another thread's draws led from the state ``before`` to ``now``.

    They leave the seed what it was, and the calling thread has set no state. A state that is fresh from
    seeding was set, by whatever way.
    """
    thread = threading.get_ident()
    own = thread in _setters
    _setters.discard(thread)
    if own or generator is not torch.default_generator or before[_SEED] != now[_SEED]:
        return False
    fresh = torch.Generator().manual_seed(generator.initial_seed()).get_state()
    return fresh.numpy().tobytes() != now
