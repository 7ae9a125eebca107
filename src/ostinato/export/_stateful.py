"""Exports modules that keep state in Python attributes, without losing any of it."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from .._errors import fail
from ._attributes import Address, alike
from ._methods import Variant
from ._observe import Call, Observation, observe
from ._session import compare, default_sequences
from ._signature import shown
from ._wrap import State, trace_method, trace_reset

_STARTS = 3  # how many random inputs an assumed start is tried with
_FOLLOWING = 4  # calls in a row from each of them

Calls = Sequence[tuple[tuple[Any, ...], dict[str, Any]]]


def trace_stateful(
    module: torch.nn.Module,
    variants: Mapping[str, Calls],
    reset: str | None = None,
    *,
    dynamic_shapes: Mapping[str, Any] | None = None,
    seed: int = 0,
) -> dict[str, list[Variant]]:
    """Export methods of a module together with the state that it keeps between calls.

    ``variants`` maps a method to its example calls, ``(args, kwargs)`` each; every
    example becomes a program specialised for its non-tensor arguments and, but
    for what ``dynamic_shapes`` (method → as for ``torch.export.export``, or a list
    with one such for each example) says, its shapes. ``reset`` names the method
    without arguments that brings the state back to the start. The module is not
    changed.

    The eager module is run three calls in a row on every example. A tensor
    attribute (or one inside a list, tuple or dict) that changes becomes a buffer
    under its own dotted path; parameters and buffers keep their names. State of
    different shapes in different variants is kept apart (``_context`` and
    ``_context__1x32``). Where the module starts without the tensor (None, empty,
    another shape) zeros are taken for it, and the program must then give what
    the first calls of the eager module give. Other attributes that change must
    stand still after the first call.

    In the end the programs have been compared with the module on random inputs,
    bit for bit or within 1e-6: from the start, across changes of variant and
    method (which shows whether they reset the state or carry it), and after a
    reset.

    Raises ExportError that names the attribute or call, where state would be
    lost, tracing fails, or the comparison does not hold.
    """
    if not variants or not all(variants.values()):
        raise fail("export.no_methods")
    for method in (*variants, *([reset] if reset else [])):
        if not callable(getattr(module, method, None)):
            raise fail("export.no_attribute", kind=type(module).__name__, method=method)
    try:
        start = copy.deepcopy(module)
    except Exception as error:
        raise fail("export.uncopyable", kind=type(module).__name__, reason=error) from error
    generator = torch.Generator().manual_seed(seed)
    seen = [
        observe(start, Call(method, tuple(args), dict(kwargs)), generator)
        for method, calls in variants.items()
        for args, kwargs in calls
    ]
    keys = _ordered(seen)
    names = _Names()
    methods: dict[str, list[Variant]] = {}
    starts: dict[str, State] = {}
    for each in seen:
        call = each.call
        at = len(methods.get(call.method, ()))
        state = {names.of(state): state for state in _state_of(each, keys)}
        starts.update(state)
        shapes = (dynamic_shapes or {}).get(call.method)
        program = trace_method(each, state, shapes[at] if isinstance(shapes, list) else shapes)
        variant = Variant(program, call.args, call.kwargs or {}, mode=each.mode or None)
        _check_start(start, call, variant, state, generator, seed)
        methods.setdefault(call.method, []).append(variant)
    methods = _with_policy(start, methods, bool(starts), generator, seed)
    if reset:
        program = trace_reset(reset, {name: state.initial for name, state in starts.items()})
        methods[reset] = [Variant(program, resets=True)]
        report = compare(start, methods, default_sequences(methods, generator), seed)
        if not report.agrees:
            raise fail("export.disagrees", first=report.first, max_abs=report.max_abs)
    return methods


def _ordered(seen: list[Observation]) -> list[tuple[Address, int]]:
    """The leaves that are state in any variant, in the order of the module's attributes."""
    found = {key for each in seen for key in each.state}
    order = {address: i for i, address in enumerate({a: None for each in seen for a in each.after})}
    return sorted(found, key=lambda key: (order[key[0]], key[1]))


def _state_of(seen: Observation, keys: list[tuple[Address, int]]) -> list[State]:
    """The state of one variant: the leaves that are state in any variant and a tensor in this one."""
    found = []
    for address, index in keys:
        steady = seen.after.get(address)
        if steady is None or index >= len(steady.leaves):
            continue
        leaf = steady.leaves[index]
        if not isinstance(leaf, torch.Tensor) or not leaf.numel():
            continue
        path = address.dotted if steady.spec.is_leaf() else f"{address.dotted}.{index}"
        before = seen.before.get(address)
        known = before.leaves[index] if before is not None and before.spec == steady.spec else None
        if isinstance(known, torch.Tensor) and alike(known, leaf):
            found.append(State(address, index, path, known, assumed=False))
        else:
            found.append(State(address, index, path, torch.zeros_like(leaf), assumed=True))
    return found


class _Names:
    """The name of a state: its dotted path; where that is taken by another shape, the shape is added."""

    def __init__(self) -> None:
        self._taken: dict[str, tuple[Any, ...]] = {}

    def of(self, state: State) -> str:
        shape = "x".join(map(str, state.initial.shape)) or "scalar"
        dtype = str(state.initial.dtype).removeprefix("torch.")
        identity = (state.address, state.index, shape, dtype)
        for name in (state.path, f"{state.path}__{shape}", f"{state.path}__{shape}_{dtype}"):
            if self._taken.setdefault(name, identity) == identity:
                return name
        raise fail("export.state_conflict", name=state.path)


def _check_start(
    start: torch.nn.Module,
    call: Call,
    variant: Variant,
    state: dict[str, State],
    generator: torch.Generator,
    seed: int,
) -> None:
    plans = [[call.varied(generator) for _ in range(_FOLLOWING)] for _ in range(_STARTS)]
    report = compare(start, {call.method: [variant]}, plans, seed)
    if report.agrees:
        return
    assumed = ", ".join(each.address.dotted for each in state.values() if each.assumed)
    signature = f"{call.method}{shown(call.args, call.kwargs or {})}"
    if assumed and "call 0:" in report.first:
        raise fail("export.start", names=assumed, call=signature, max_abs=report.max_abs)
    raise fail("export.disagrees", first=report.first, max_abs=report.max_abs)


def _with_policy(
    start: torch.nn.Module,
    methods: dict[str, list[Variant]],
    stateful: bool,
    generator: torch.Generator,
    seed: int,
) -> dict[str, list[Variant]]:
    """The methods with what a change between their variants does to the state, as the module shows it."""
    every = [each for traced in methods.values() for each in traced]
    if len(every) == 1:  # what it does alone has been compared by now
        return methods
    plans = default_sequences(methods, generator)
    modes = {each.mode for each in every} - {None}
    candidates = [methods]
    if stateful:
        numbered = {
            method: [replace(each, mode=f"{method} {i}") for i, each in enumerate(traced)]
            for method, traced in methods.items()
        }
        candidates = [_under("carry", methods), _under("reset", numbered)]
        if len(modes) > 1:
            candidates.insert(0, _under("reset", methods))
    for tried in candidates:
        report = compare(start, tried, plans, seed)
        if report.agrees:
            return tried
    raise fail("export.variant_change", first=report.first, max_abs=report.max_abs)


def _under(policy: str, methods: dict[str, list[Variant]]) -> dict[str, list[Variant]]:
    return {
        method: [replace(each, on_variant_change=policy) for each in traced]
        for method, traced in methods.items()
    }
