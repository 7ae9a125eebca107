"""What a capture must set for the whole process; set while a capture of any thread is under way."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from ._capture import current_recorder
from ._seeding import noting
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
        if sys._getframe(1).f_globals.get("__name__") == "torch._ops":  # operators that take functions
            return original(args)
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


# The functions of torch that let dynamo call an operator for them, unless dynamo is running already.
_FRONTS = {
    ("torch._higher_order_ops.cond", "cond"),
    ("torch._higher_order_ops.while_loop", "while_loop"),
    ("torch._higher_order_ops.utils", "_maybe_compile_and_run_fn"),
}


@contextlib.contextmanager
def _direct_control_flow() -> Iterator[None]:
    original = torch.compiler.is_dynamo_compiling

    def is_dynamo_compiling() -> bool:
        caller = sys._getframe(1)
        front = (caller.f_globals.get("__name__"), caller.f_code.co_name)
        return (front in _FRONTS and current_recorder() is not None) or original()

    torch.compiler.is_dynamo_compiling = is_dynamo_compiling
    try:
        yield
    finally:
        torch.compiler.is_dynamo_compiling = original


_stance, _unseen, _direct = _Shared(_forced_eager), _Shared(_unseen_watch), _Shared(_direct_control_flow)
_noting = _Shared(noting)


def eager_compile() -> Context:
    """Runs compiled regions as they were written, since a recorder cannot look into compiled code.

    Where dynamo is not loaded, nothing has been compiled, and torch compiles nothing under a mode.
    """
    return _stance.held() if "torch._dynamo" in sys.modules else contextlib.nullcontext()


def noted_seeding() -> Context:
    """Notes which thread sets the default generator through ``torch.random``."""
    return _noting.held()


def direct_control_flow() -> Context:
    """Lets ``torch.cond`` and its like call their operators directly.

    Through dynamo the first call takes seconds, and dynamo refuses branches that a graph can hold.
    """
    return _direct.held()


def module_paths(numerics: str) -> Context:
    """Lets modules that ask for function modes take the path that they take without ours.

    TransformerEncoderLayer and MultiheadAttention have one in inference, with other last
    bits. In fast numerics their long path is wanted, for its parts can be packed and fused.
    """
    return _unseen.held() if numerics == "exact" else contextlib.nullcontext()
