"""Optimizer steps beside torch's fused and foreach forms, in turn in one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

import ostinato as ost

_SHAPES = {
    "1000 x 256": [(256,)] * 1000,
    "161 tensors, 25 M": [(64,)] * 107 + [(512, 512, 3, 3)] * 9 + [(256, 256)] * 44 + [(300, 512)],
}
_ROWS: list[tuple[str, str, torch.dtype, dict[str, Any]]] = [
    ("AdamW", "1000 x 256", torch.float32, {}),
    ("AdamW", "161 tensors, 25 M", torch.float32, {}),
    ("AdamW", "161 tensors, 25 M", torch.bfloat16, {}),
    ("AdamW", "161 tensors, 25 M", torch.float64, {}),
    ("Adagrad", "161 tensors, 25 M", torch.float32, {}),
    ("Adagrad", "161 tensors, 25 M", torch.bfloat16, {}),
    ("SGD", "1000 x 256", torch.float32, {"momentum": 0.9}),
    ("SGD", "161 tensors, 25 M", torch.float32, {"momentum": 0.9}),
]


def _steps(
    name: str, shapes: str, dtype: torch.dtype, options: dict[str, Any]
) -> dict[str, Callable[[], Any]]:
    params = [torch.nn.Parameter(torch.randn(s, dtype=dtype)) for s in _SHAPES[shapes]]
    for p in params:
        p.grad = torch.randn_like(p)
    return {
        "fused": getattr(torch.optim, name)(params, fused=True, **options).step,
        "foreach": getattr(torch.optim, name)(params, foreach=True, **options).step,
        "Ostinato": getattr(ost.optim, name)(params, **options).step,
    }


def _times(runs: dict[str, Callable[[], Any]], rounds: int = 15) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for round_ in range(rounds + 2):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if round_ >= 2:
                taken[name].append(time.perf_counter() - start)
    return taken


def main() -> None:
    """Prints a row an optimizer; a ratio is the median over rounds, against the faster of torch's two."""
    table = Table(title=f"ms a step, {torch.get_num_threads()} threads", title_justify="left")
    for column in ("optimizer", "tensors", "dtype", "fused", "foreach", "Ostinato", "times faster"):
        table.add_column(column)
    for name, shapes, dtype, options in _ROWS:
        taken = _times(_steps(name, shapes, dtype, options))
        pairs = zip(*taken.values(), strict=True)
        ratio = statistics.median(min(fused, foreach) / own for fused, foreach, own in pairs)
        medians = [f"{statistics.median(t) * 1e3:.2f}" for t in taken.values()]
        table.add_row(name, shapes, str(dtype).removeprefix("torch."), *medians, f"{ratio:.2f}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
