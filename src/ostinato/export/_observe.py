"""Runs the eager module a few calls in a row and tells its state from what merely settles."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

from .._errors import fail
from ._attributes import Address, Snapshot, Value, alike, as_bytes, equal, plain, same, snapshot
from ._signature import dtype_name
from ._vet import STAND_INS

CALLS = 3


@dataclass(frozen=True)
class Call:
    """One call: a method and its arguments."""

    method: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] | None = None

    def on(self, module: Any) -> Any:
        return getattr(module, self.method)(*self.args, **(self.kwargs or {}))

    def varied(self, generator: torch.Generator) -> Call:
        """The same call on other values: floats drawn anew, whole numbers and booleans shuffled."""
        args, kwargs = pytree.tree_map(lambda leaf: _varied(leaf, generator), (self.args, self.kwargs or {}))
        return Call(self.method, args, kwargs)

    def fresh(self) -> Call:
        """The same call on copies of its tensors, so that one run cannot change the arguments of another."""
        args, kwargs = pytree.tree_map(
            lambda leaf: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf,
            (self.args, self.kwargs or {}),
        )
        return Call(self.method, args, kwargs)


def _varied(leaf: Any, generator: torch.Generator) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return leaf
    if not leaf.is_floating_point() or dtype_name(leaf.dtype) in STAND_INS:
        flat = as_bytes(leaf).reshape(leaf.numel(), -1)
        order = torch.randperm(leaf.numel(), generator=generator)
        return flat[order.to(leaf.device)].view(leaf.dtype).reshape(leaf.shape)
    drawn = torch.randn(leaf.shape, generator=generator)
    values = leaf.detach().float()
    spread = float(values.std()) if leaf.numel() > 1 else 0.0
    if spread == 0.0 or spread != spread:
        return drawn.to(leaf.device, leaf.dtype)
    return (drawn.to(leaf.device) * spread + values.mean()).to(leaf.dtype)


@dataclass(frozen=True)
class Observation:
    """A call made `CALLS` times on a fresh module: the module afterwards, and the leaves that are state.

    ``mode`` names the numbers and texts that the first call set and that stayed
    (``"_last_sr=16000"``); empty where there are none.
    """

    call: Call
    steady: torch.nn.Module
    before: Snapshot
    after: Snapshot
    state: set[tuple[Address, int]]
    mode: str


def observe(start: torch.nn.Module, call: Call, generator: torch.Generator) -> Observation:
    """Watch ``call`` from the module's initial state.

    Raises ExportError, naming the attribute, for one that keeps changing and is
    no tensor, for a tensor whose shape keeps changing, and for an object that
    cannot be looked into.
    """
    probe = copy.deepcopy(start)
    snaps = [snapshot(probe)]
    for i in range(CALLS):
        _run(probe, call if i == 0 else call.varied(generator))
        snaps.append(snapshot(probe))
    other = copy.deepcopy(start)
    _run(other, call.varied(generator))
    elsewhere = snapshot(other)
    state: set[tuple[Address, int]] = set()
    mode: list[str] = []
    for address in {address: None for snap in snaps for address in snap}:
        seen = [snap.get(address) for snap in snaps]
        if not all(equal(seen[0], each) for each in seen[1:]):
            leaves, settled = _sorted(address, seen, elsewhere.get(address))
            state.update((address, i) for i in leaves)
            mode += settled
    return Observation(call, probe, snaps[0], snaps[-1], state, ", ".join(sorted(mode)))


def _run(module: torch.nn.Module, call: Call) -> None:
    try:
        with torch.no_grad():
            call.fresh().on(module)
    except Exception as error:
        raise fail("export.eager", method=call.method, reason=f"{type(error).__name__}: {error}") from error


def _sorted(
    address: Address, seen: list[Value | None], elsewhere: Value | None
) -> tuple[list[int], list[str]]:
    """Which leaves of a value are state, and what is to be said of those that settle."""
    name = address.dotted
    first, *later = seen[1:]
    if first is None or any(each is None or each.spec != first.spec for each in later):
        raise fail("export.structure", name=name)
    found, settled = [], []
    before = (
        seen[0].leaves if seen[0] is not None and seen[0].spec == first.spec else [None] * len(first.leaves)
    )
    for i, leaf in enumerate(first.leaves):
        leaves = [leaf] + [each.leaves[i] for each in later if each is not None]
        everywhere = elsewhere is not None and elsewhere.spec == first.spec
        if everywhere and elsewhere is not None:
            everywhere = all(same(leaf, each) for each in [*leaves, elsewhere.leaves[i]])
        if everywhere:  # the same whatever the input, from the first call on: part of the program
            if isinstance(leaf, (bool, int, float, str)) and not same(leaf, before[i]):
                settled.append(f"{name}={leaf!r}")
        elif isinstance(leaf, torch.Tensor):
            for each in leaves:
                if not alike(leaf, each):
                    shapes = ", ".join(str(list(getattr(each, "shape", ()))) for each in leaves)
                    raise fail("export.shape", name=name, shapes=shapes)
            if leaf.numel():
                found.append(i)
        elif not plain(leaf):
            raise fail("export.opaque", name=name, kind=type(leaf).__name__)
        else:
            values = " → ".join(repr(each)[:40] for each in [before[i], *leaves])
            raise fail("export.counter", name=name, values=values)
    return found, settled
