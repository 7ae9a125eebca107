"""Optimizer steps beside torch's fused and foreach forms, in turn in one process."""

from __future__ import annotations

import dataclasses
import functools
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

import ostinato as ost

_SMALL = [(256,)] * 1000
_LARGE = [(64,)] * 107 + [(512, 512, 3, 3)] * 9 + [(256, 256)] * 44 + [(300, 512)]  # like a ResNet-50
_ROUNDS = 15
_MAX_NORM = 1e9  # more than any has, so that torch, which scales in place, goes on with the same numbers


@dataclasses.dataclass
class Row:
    name: str
    tensors: str
    dtype: torch.dtype = torch.float32
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    new_gradients: bool = False  # other tensors for every step, as after zero_grad()
    clip: bool = False  # gradients, to a norm; for torch a call of its own before the step
    turn: float = 0.0  # seconds that each runtime has before the next; at least one step

    @property
    def shapes(self) -> list[Any]:
        return _SMALL if self.tensors.startswith("1000") else _LARGE


_ROWS = [
    Row("AdamW", "1000 x 256", turn=0.05),
    Row("AdamW", "1000 x 256, one step at a time"),
    Row("AdamW", "1000 x 256, new gradients", new_gradients=True),
    Row("SGD", "1000 x 256", options={"momentum": 0.9}, turn=0.05),
    Row("Adagrad", "1000 x 256", turn=0.05),
    *(Row("AdamW", "161, 25 M", d) for d in (torch.float32, torch.bfloat16, torch.float16, torch.float64)),
    *(Row("AdamW", "161, 25 M, clipped", d, clip=True) for d in (torch.float32, torch.bfloat16)),
    Row("AdamW", "1000 x 256, clipped", clip=True, turn=0.05),
    *(Row("Adagrad", "161, 25 M", d) for d in (torch.float32, torch.bfloat16)),
    *(Row("SGD", "161, 25 M", d, {"momentum": 0.9}) for d in (torch.float32, torch.bfloat16)),
]


def _steps(row: Row) -> tuple[list[torch.nn.Parameter], dict[str, Callable[[], Any]]]:
    params = [torch.nn.Parameter(torch.randn(s, dtype=row.dtype)) for s in row.shapes]
    for p in params:
        p.grad = torch.randn_like(p)
    stock = getattr(torch.optim, row.name)
    steps = {
        "fused": stock(params, fused=True, **row.options).step,
        "foreach": stock(params, foreach=True, **row.options).step,
        "Ostinato": getattr(ost.optim, row.name)(params, **row.options).step,
    }
    if row.clip:
        steps = {k: _clipped(params, v) for k, v in steps.items() if k != "Ostinato"} | {
            "Ostinato": functools.partial(steps["Ostinato"], max_norm=_MAX_NORM)
        }
    return params, steps


def _clipped(params: list[torch.nn.Parameter], step: Callable[[], Any]) -> Callable[[], Any]:
    def clip_and_step() -> None:
        torch.nn.utils.clip_grad_norm_(params, _MAX_NORM)
        step()

    return clip_and_step


def _times(row: Row) -> dict[str, list[float]]:
    """Seconds a step, a list a runtime; after two rounds of warming up."""
    params, runs = _steps(row)
    taken: dict[str, list[float]] = {name: [] for name in runs}
    counts = dict.fromkeys(runs, 1)
    for _ in range(_ROUNDS + 2):
        for name, run in runs.items():
            if row.new_gradients:
                for p in params:
                    p.grad = torch.randn_like(p)
            start = time.perf_counter()
            for _ in range(counts[name]):
                run()
            taken[name].append((time.perf_counter() - start) / counts[name])
            counts[name] = max(1, int(row.turn / taken[name][-1]))
    return {name: times[2:] for name, times in taken.items()}


def _updates_all(row: Row) -> bool:
    """Whether torch's fused step moves every element of whole vectors, as it should."""
    p = torch.nn.Parameter(torch.ones(1024, dtype=row.dtype))
    p.grad = torch.ones_like(p)
    getattr(torch.optim, row.name)([p], lr=0.5, fused=True, **row.options).step()
    return bool((p != 1).all())


def main() -> None:
    """Prints a row a kind of step; a ratio is the median over rounds, against the faster of torch's two.

    A fused step that leaves elements as they are (SGD in short formats, torch 2.13) is
    in brackets, and no rival.
    """
    table = Table(title=f"ms a step, {torch.get_num_threads()} threads", title_justify="left")
    for column in ("optimizer", "tensors", "dtype", "fused", "foreach", "Ostinato", "times faster"):
        table.add_column(column)
    for row in _ROWS:
        taken = _times(row)
        medians = [f"{statistics.median(times) * 1e3:.2f}" for times in taken.values()]
        if not _updates_all(row):
            medians[0], taken["fused"] = f"({medians[0]})", taken["foreach"]
        pairs = zip(*taken.values(), strict=True)
        ratio = statistics.median(min(fused, foreach) / own for fused, foreach, own in pairs)
        table.add_row(row.name, row.tensors, str(row.dtype).removeprefix("torch."), *medians, f"{ratio:.2f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
