"""The native calls that are too hot for an operator's own call: plain C functions of integers."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

from ._load import library_path, ops


@functools.cache
def plan_run() -> Callable[[int, int, int], int]:
    """``plan_run()(plan, first, last)`` runs steps of a plan without the interpreter's lock.

    Returns ``last``, or the number of the step that failed, or one of the negative
    numbers that ``csrc/bindings/graph.cpp`` names.
    """
    ops()  # loads the library beside torch, and says what is wrong where it cannot be
    function = ctypes.CDLL(library_path()).ostinato_plan_run
    function.argtypes = (ctypes.c_int64,) * 3
    function.restype = ctypes.c_int64
    return function
