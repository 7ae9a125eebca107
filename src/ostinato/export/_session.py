"""Runs exported methods as a deployed file runs them, and measures them against the eager module."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._errors import fail
from ._attributes import as_bytes
from ._methods import Variant, buffers, mutated_buffers, tensor_of
from ._observe import Call
from ._signature import describe, dtype_name, matches, shown
from ._vet import STAND_INS

TOLERANCE = 1e-6


class Session:
    """Methods with a state of their own: the meaning of a file, written out plainly.

    A call goes to the first variant that takes its arguments. Where its mode is
    another than that of the last call that had one, and the method says so, all
    state first goes back to its initial value. The programs given are not
    changed: the state lives in the session.
    """

    def __init__(self, methods: Mapping[str, list[Variant]]) -> None:
        self._methods = methods
        self._inputs = {name: [describe(each.program)[0] for each in methods[name]] for name in methods}
        self._mode: str | None = None
        self._initial: dict[str, torch.Tensor] = {}
        every = [each.program for variants in methods.values() for each in variants]
        for program in every:
            for name in mutated_buffers(program):
                self._initial.setdefault(name, tensor_of(program, name).detach().clone())
        self.state = {name: value.clone() for name, value in self._initial.items()}
        self._modules: dict[tuple[str, int], torch.fx.GraphModule] = {}

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """What the method returns; UsageError where no variant takes these arguments."""
        i = self._find(method, args, kwargs)
        variant = self._methods[method][i]
        if variant.resets:
            self._mode = None
        elif variant.mode is not None:
            if variant.on_variant_change == "reset" and self._mode not in (None, variant.mode):
                self.reset()
            self._mode = variant.mode
        with torch.no_grad():
            return self._module(method, i)(*args, **kwargs)

    def reset(self) -> None:
        """Start anew: all state goes back to its initial value."""
        self._mode = None
        for name, value in self._initial.items():
            self.state[name].copy_(value)

    def _find(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        for i, inputs in enumerate(self._inputs.get(method, ())):
            if matches(inputs, args, kwargs):
                return i
        known = "; ".join(
            f"{name}{shown(each.args, each.kwargs)}" for name in self._methods for each in self._methods[name]
        )
        raise fail("export.no_variant", call=f"{method}{shown(args, kwargs)}", known=known)

    def _module(self, method: str, i: int) -> torch.fx.GraphModule:
        if (method, i) not in self._modules:
            program = self._methods[method][i].program
            module = program.module()
            for name in buffers(program):
                if name in self.state:
                    owner, _, attribute = name.rpartition(".")
                    module.get_submodule(owner)._buffers[attribute] = self.state[name]
            self._modules[method, i] = module
        return self._modules[method, i]


@dataclass
class Report:
    """The largest differences over all calls of all sequences, and where the largest was.

    ``max_rel`` relates a difference to the largest magnitude in the expected
    tensor. ``first`` is the first call (``"sequence 0, call 3: forward(…)"``)
    that differs by more than 1e-6 both ways; empty where none does.
    """

    max_abs: float = 0.0
    max_rel: float = 0.0
    calls: int = 0
    sequences: int = 0
    worst: str = ""
    first: str = ""

    @property
    def agrees(self) -> bool:
        """Whether every call agreed, bit for bit or within 1e-6."""
        return not self.first

    def to_json(self) -> dict[str, Any]:
        """For the ``"verification"`` of `save_methods`."""
        return {key: value if value != float("inf") else "inf" for key, value in asdict(self).items()}


def verify(
    module: torch.nn.Module,
    methods: Mapping[str, list[Variant]],
    sequences: Sequence[Sequence[tuple[str, tuple[Any, ...], dict[str, Any]]]] | None = None,
    *,
    seed: int = 0,
) -> Report:
    """Compare the exported methods with the eager module, call by call.

    Each of ``sequences`` is a list of ``(method, args, kwargs)``, made one after
    the other on a fresh copy of ``module`` and in a fresh `Session`. By default
    they are made up from the variants' example arguments with random values: for
    every method, three calls of each variant in turn, the first variant again,
    and, where a method resets, a reset and three calls more; then every variant
    of every method followed by every one of the others.

    Returns a `Report`; it does not raise where values differ. Raises
    ExportError where an eager call fails.
    """
    generator = torch.Generator().manual_seed(seed)
    if sequences is None:
        plans = default_sequences(methods, generator)
    else:
        plans = [
            [Call(method, tuple(args), dict(kwargs)) for method, args, kwargs in each] for each in sequences
        ]
    return compare(module, methods, plans, seed)


def default_sequences(methods: Mapping[str, list[Variant]], generator: torch.Generator) -> list[list[Call]]:
    """The calls that `verify` makes."""
    callable_ = {name: variants for name, variants in methods.items() if not variants[0].resets}
    resets = [Call(name) for name in methods if name not in callable_]
    plans = []
    for name, variants in callable_.items():
        turns = [each for variant in [*variants, variants[0]] for each in [variant] * 3]
        plan = [_call(name, each).varied(generator) for each in turns]
        for reset in resets:
            plan += [reset, *(_call(name, variants[-1]).varied(generator) for _ in range(3))]
        plans.append(plan)
    for first, second in itertools.permutations(callable_, 2):
        for a, b in itertools.product(callable_[first], callable_[second]):
            before, after = _call(first, a), _call(second, b)
            plans.append([each.varied(generator) for each in (before, before, after, before)])
    return plans


def _call(method: str, variant: Variant) -> Call:
    return Call(method, variant.args, variant.kwargs)


def compare(
    module: torch.nn.Module, methods: Mapping[str, list[Variant]], plans: list[list[Call]], seed: int = 0
) -> Report:
    report = Report(sequences=len(plans))
    session = Session(methods)
    for number, plan in enumerate(plans):
        eager = copy.deepcopy(module)
        session.reset()
        for i, call in enumerate(plan):
            with _seeded(seed + i, "export.eager", call.method):
                expected = call.fresh().on(eager)
            with _seeded(seed + i, "export.program", call.method):
                again = call.fresh()
                got = session.call(again.method, *again.args, **(again.kwargs or {}))
            where = f"sequence {number}, call {i}: {call.method}{shown(call.args, call.kwargs or {})}"
            _record(report, expected, got, where)
    return report


@contextmanager
def _seeded(seed: int, code: str, method: str) -> Iterator[None]:
    """A generator of its own and no gradients; what fails becomes the error that ``code`` names."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        try:
            yield
        except Exception as error:
            raise fail(code, method=method, reason=f"{type(error).__name__}: {error}") from error


def _record(report: Report, expected: Any, got: Any, where: str) -> None:
    report.calls += 1
    wanted, spec = pytree.tree_flatten(expected)
    found, other = pytree.tree_flatten(got)
    largest, relative = (0.0, 0.0) if spec == other else (float("inf"), float("inf"))
    for each, answer in zip(wanted, found, strict=False):
        difference, ratio = _difference(each, answer)
        largest, relative = max(largest, difference), max(relative, ratio)
    if largest > report.max_abs:
        report.max_abs, report.worst = largest, where
    report.max_rel = max(report.max_rel, relative)
    if largest > TOLERANCE and relative > TOLERANCE and not report.first:
        report.first = where


def _difference(expected: Any, got: Any) -> tuple[float, float]:
    if not isinstance(expected, torch.Tensor):
        different = type(expected) is not type(got) or expected != got
        return (float("inf"), float("inf")) if different else (0.0, 0.0)
    if not isinstance(got, torch.Tensor) or got.shape != expected.shape or got.dtype != expected.dtype:
        return float("inf"), float("inf")
    if torch.equal(as_bytes(expected), as_bytes(got)):
        return 0.0, 0.0
    if dtype_name(expected.dtype) in STAND_INS:
        return float("inf"), float("inf")
    wide = torch.complex128 if expected.is_complex() else torch.float64
    first, second = expected.detach().cpu().to(wide), got.detach().cpu().to(wide)
    apart = torch.where((first == second) | (first.isnan() & second.isnan()), 0.0, (first - second).abs())
    if not apart.numel():
        return 0.0, 0.0
    largest = float(apart.nan_to_num(float("inf"), float("inf")).max())
    scale = float(first.abs().nan_to_num(0.0, 0.0).max())
    return largest, largest / max(scale, 1e-30) if largest else 0.0
