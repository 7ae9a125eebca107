"""The native calls that are too hot for an operator's own call: plain C functions of integers."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

from ._load import library_path, ops


@functools.cache
def plan_run() -> Callable[[int, int, int, int], int]:
    """``plan_run()(plan, first, last, at)`` runs a plan from ``at`` on, without the interpreter's lock.

    Returns ``last``, or the number of the step that failed, or one of the negative
    numbers that ``csrc/graph/plan.h`` and ``csrc/bindings/graph.cpp`` name.
    """
    function = _library().ostinato_plan_run
    function.argtypes = (ctypes.c_int64,) * 4
    function.restype = ctypes.c_int64
    return function


def plan_replay(number: int) -> Callable[[], int]:
    """What runs all steps of plan ``number``; it returns how many they are, or as ``plan_run`` does."""
    function = _library().ostinato_plan_replay
    function.restype = ctypes.c_int64
    # An argument that is a C integer already saves a third of the call.
    return functools.partial(function, ctypes.c_int64(number))


def _library() -> ctypes.CDLL:
    ops()  # loads the library beside torch, and says what is wrong where it cannot be
    return ctypes.CDLL(library_path())
