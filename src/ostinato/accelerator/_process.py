"""What a capture must set for the whole process; set while a capture of any thread is under way."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from ._watch import WatchMode

Context = contextlib.AbstractContextManager[Any]


class _Shared:
    """Enters ``make()`` with the first capture and leaves it with the last."""

    def __init__(self, make: Callable[[], Context]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._captures = 0
        self._stack = contextlib.ExitStack()

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        with self._lock:
            if self._captures == 0:
                self._stack.enter_context(self._make())
            self._captures += 1
        try:
            yield
        finally:
            with self._lock:
                self._captures -= 1
                if self._captures == 0:
                    self._stack.close()


@contextlib.contextmanager
def _forced_eager() -> Iterator[None]:
    stance = torch.compiler.set_stance("force_eager")
    try:
        yield
    finally:
        stance.__exit__(None, None, None)  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def _unseen_watch() -> Iterator[None]:
    original = torch.overrides.has_torch_function

    def has_torch_function(args: Iterable[Any]) -> bool:
        depth = torch._C._len_torch_function_stack()
        if not depth or not isinstance(torch._C._get_function_stack_at(depth - 1), WatchMode):
            return original(args)
        watch = torch._C._pop_torch_function_stack()
        try:
            return original(args)
        finally:
            torch._C._push_on_torch_function_stack(watch)

    torch.overrides.has_torch_function = has_torch_function
    try:
        yield
    finally:
        torch.overrides.has_torch_function = original


_stance, _unseen = _Shared(_forced_eager), _Shared(_unseen_watch)


def eager_compile() -> Context:
    """Runs compiled regions as they were written, since a recorder cannot look into compiled code.

    Where dynamo is not loaded, nothing has been compiled, and torch compiles nothing under a mode.
    """
    return _stance.held() if "torch._dynamo" in sys.modules else contextlib.nullcontext()


def module_paths(numerics: str) -> Context:
    """Lets modules that ask for function modes take the path that they take without ours.

    TransformerEncoderLayer and MultiheadAttention have one in inference, with other last
    bits. In fast numerics their long path is wanted, for its parts can be packed and fused.
    """
    return _unseen.held() if numerics == "exact" else contextlib.nullcontext()
