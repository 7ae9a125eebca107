"""Ostinato: a graph of the row's model, or the deployed file."""

from __future__ import annotations

import functools
from typing import Any

import torch

import ostinato as ost

from . import _silero
from ._rows import Row, Tensors
from ._runner import Clock, Runner, calling, copy_all


def graph(numerics: str, row: Row, threads: int, inputs: Tensors) -> Runner:
    return _deployed(numerics, inputs) if row.deployed else _captured(numerics, row, inputs)[0]


def figures(row: Row, numerics: str) -> dict[str, Any]:
    """What `stats()` says of the row's graph."""
    inputs = row.inputs()()
    if row.deployed:
        model = ost.load(_silero.deployed(), numerics=numerics)
        model(*inputs, _silero.RATE)
        found = model.stats()["forward"][0]
    else:
        with torch.no_grad():
            found = _captured(numerics, row, inputs)[1].stats()
    return {key: found[key] for key in ("nodes", "steps", "fused_nodes", "pool_bytes")}


def _captured(numerics: str, row: Row, inputs: Tensors) -> tuple[Runner, ost.accelerator.Graph]:
    model = row.make()
    given = tuple(each.clone() for each in inputs)
    clock = Clock()
    captured = ost.accelerator.Graph(numerics=numerics)
    with captured:
        made = model(*given)
    captured.replay()
    results = (made,) if isinstance(made, torch.Tensor) else tuple(made)
    return Runner(lambda new: copy_all(given, new), captured.replay, lambda: results, clock()), captured


def _deployed(numerics: str, inputs: Tensors) -> Runner:
    path = _silero.deployed()
    clock = Clock()
    model = ost.load(path, numerics=numerics)
    call = functools.partial(_at_rate, model)
    call(*inputs)
    return calling(call, inputs, clock(), model.reset_states)


def _at_rate(model: Any, chunk: torch.Tensor) -> torch.Tensor:
    found: torch.Tensor = model(chunk, _silero.RATE)
    return found
