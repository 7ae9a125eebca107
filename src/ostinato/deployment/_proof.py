"""Runs the deployed file beside what it was made from, call by call."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..export import Call, Session, Variant, default_sequences, shown
from ._data import covers
from ._difference import Difference, Measure

# What numerics promise: (rtol, atol). Exact steps repeat the exported program bit for bit; tracing
# itself may take a composite operator apart, so against the module a rounding is allowed.
TOLERANCES = {"fast": (1e-4, 1e-5), "exact": (1e-5, 1e-6)}

Plans = list[list[Call]]


def plans_for(methods: Mapping[str, list[Variant]], data: Plans, seed: int = 0) -> Plans:
    """The calls that are compared: the given examples, then those of ``data``.

    Where ``data`` does not use every variant, also random values of the
    examples' kind: of each method three calls of every variant in turn, the
    first variant again, a reset and three calls more; then all methods mixed.
    """
    generator = torch.Generator().manual_seed(seed)
    given = [Call(name, each.args, each.kwargs) for name, variants in methods.items() for each in variants]
    drawn = [] if covers(data, methods) else default_sequences(methods, generator)
    return [given, *data, *drawn]


def results(plans: Plans, start: Callable[[], Callable[[Call], Any]], seed: int = 0) -> list[list[Any]]:
    """What the calls of every plan return; ``start`` gives a runner in the initial state."""
    collected = []
    for plan in plans:
        run = start()
        row = []
        for i, call in enumerate(plan):
            with torch.random.fork_rng(devices=[]), torch.no_grad():
                torch.manual_seed(seed + i)
                # A copy: what a call returns may be state that the next one writes.
                row.append(pytree.tree_map_only(torch.Tensor, torch.clone, run(call.fresh())))
        collected.append(row)
    return collected


def of_module(module: torch.nn.Module) -> Callable[[], Callable[[Call], Any]]:
    """Calls on a fresh copy of the eager module."""

    def start() -> Callable[[Call], Any]:
        eager = copy.deepcopy(module)
        return lambda call: call.on(eager)

    return start


def of_programs(methods: Mapping[str, list[Variant]]) -> Callable[[], Callable[[Call], Any]]:
    """Calls on the exported programs, run by torch."""

    def start() -> Callable[[Call], Any]:
        session = Session(methods)
        return lambda call: session.call(call.method, *call.args, **(call.kwargs or {}))

    return start


def difference(
    plans: Plans, expected: list[list[Any]], got: list[list[Any]], tolerance: tuple[float, float]
) -> Difference:
    """The largest differences between two runs of the same plans."""
    measure = Measure(*tolerance)
    for plan, wanted, found in zip(plans, expected, got, strict=True):
        for i, call in enumerate(plan):
            where = f"{call.method}{shown(call.args, call.kwargs or {})}, call {i + 1} of {len(plan)}"
            measure.add(wanted[i], found[i], where)
    return measure.result()
