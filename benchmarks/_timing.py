"""Times callables fairly: in turn, many rounds, the median and the ratio of medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table


def alternate(
    runs: dict[str, Callable[[], object]],
    rounds: int = 15,
    seconds: float = 0.05,
    of: Callable[[list[float]], float] = statistics.median,
) -> dict[str, float]:
    """Microseconds a call of each run, the median ``of`` the rounds; each round times all, in turn."""
    counts = {}
    for name, run in runs.items():
        for _ in range(5):
            run()
        start = time.perf_counter()
        run()
        counts[name] = max(1, int(seconds / max(time.perf_counter() - start, 1e-7)))
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                run()
            taken[name].append((time.perf_counter() - start) / counts[name] * 1e6)
    return {name: of(values) for name, values in taken.items()}


def show(title: str, rows: dict[str, dict[str, float]]) -> None:
    """A table: a row a piece of work, a column a runtime, each with its ratio to eager."""
    console = Console(width=100)
    names = list(next(iter(rows.values())))
    table = Table(title=f"{title} (µs a call; in brackets: times faster than eager)", title_justify="left")
    table.add_column("work")
    for name in names:
        table.add_column(name, justify="right")
    for work, figures in rows.items():
        eager = figures["eager"]
        cells = [f"{v:.1f}" if n == "eager" else f"{v:.1f} ({eager / v:.2f})" for n, v in figures.items()]
        table.add_row(work, *cells)
    console.print(table)
