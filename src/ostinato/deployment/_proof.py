"""Runs the deployed file beside what it was made from, call by call."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..export import Call, Session, Variant, default_sequences, shown
from ._difference import Difference, Measure
from ._runtime import Deployed

# What numerics promise: (rtol, atol). Exact steps repeat the exported program bit for bit; tracing
# itself may take a composite operator apart, so against the module a rounding is allowed.
TOLERANCES = {"fast": (1e-4, 1e-5), "exact": (1e-5, 1e-6)}
_PEER = Path(__file__).with_name("_torchscript_peer.py")
_PEER_SECONDS = 300

Plans = list[list[Call]]


def plans_for(methods: Mapping[str, list[Variant]], seed: int = 0) -> Plans:
    """The calls that are compared: the given examples, then random values of their kind.

    Of each method three calls of every variant in turn, the first variant
    again, a reset and three calls more; then all methods mixed.
    """
    generator = torch.Generator().manual_seed(seed)
    given = [Call(name, each.args, each.kwargs) for name, variants in methods.items() for each in variants]
    return [given, *default_sequences(methods, generator)]


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


def of_deployed(model: Deployed) -> Callable[[], Callable[[Call], Any]]:
    """Calls on the deployed file, through its graphs."""

    def start() -> Callable[[Call], Any]:
        model._reset()
        return lambda call: model.methods[call.method](*call.args, **(call.kwargs or {}))

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


def torchscript_results(archive: Path, plans: Plans) -> tuple[list[list[Any]] | None, str]:
    """What ``torch.jit`` returns for the same calls, in a process of its own; or None, and why not."""
    if not hasattr(getattr(torch, "jit", None), "load"):
        return None, "this torch has no torch.jit"
    with tempfile.TemporaryDirectory(prefix="ostinato-") as folder:
        calls, answers = os.path.join(folder, "calls.pt"), os.path.join(folder, "answers.pt")
        torch.save([[(c.method, c.args, c.kwargs or {}) for c in plan] for plan in plans], calls)
        command = [sys.executable, "-W", "ignore", str(_PEER), str(archive), calls, answers]
        command.append(str(torch.get_num_threads()))
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_PEER_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return None, f"torch.jit did not finish: {type(error).__name__}"
        if done.returncode:
            last = [line for line in done.stderr.splitlines() if line.strip()][-1:]
            return None, f"torch.jit failed: {''.join(last)[:200]}"
        rows: list[list[Any]] = torch.load(answers, weights_only=True)
        return rows, ""
