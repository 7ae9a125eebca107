"""Native calls that are plain C functions of integers.

Some are too hot for an operator's own call. Those that free are made by the garbage
collector, at any moment: as operators they would land in a program that is being traced.
"""

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


@functools.cache
def plan_free() -> Callable[[int], None]:
    """``plan_free()(plan)`` lets go of a plan; nothing where it is gone."""
    return _freeing("ostinato_plan_free")


@functools.cache
def optimizer_free() -> Callable[[int], None]:
    """``optimizer_free()(optimizer)``: the same of an optimizer's tensors."""
    return _freeing("ostinato_optimizer_free")


def _freeing(name: str) -> Callable[[int], None]:
    function = getattr(_library(), name)
    function.argtypes = (ctypes.c_int64,)
    function.restype = None
    free: Callable[[int], None] = function
    return free


def _library() -> ctypes.CDLL:
    ops()  # loads the library beside torch, and says what is wrong where it cannot be
    return ctypes.CDLL(library_path())
