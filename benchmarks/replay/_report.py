"""The table for people and the document that is kept."""

from __future__ import annotations

import dataclasses
import datetime
import json
import pathlib
import re
import statistics
from typing import Any

from rich.console import Console
from rich.table import Table

from ostinato.cli._machine import Machine

from ._cost import Cost
from ._machine import described, versions
from ._measure import Timed
from ._rows import OURS, PEERS

RESULTS = pathlib.Path(__file__).parents[1] / "results"
_COLUMNS = {"torchscript": "TorchScript", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO"}


@dataclasses.dataclass(frozen=True)
class Line:
    """A row with all that is known of it."""

    timed: Timed
    cost: Cost
    limit_us: float
    graph: dict[str, Any]  # the figures of the graph with fast numerics

    @property
    def of_limit(self) -> float:
        """The share of the time that the machine's own rates leave no way around."""
        return self.limit_us / self.timed.timings["fast"].median_us


def geometric_mean(lines: list[Line]) -> float:
    return statistics.geometric_mean(line.timed.ratio for line in lines)


def show(machine: Machine, lines: list[Line], console: Console) -> None:
    """Two tables: times a call, and what it takes to get ready."""
    names = [n for n in (*PEERS, *OURS) if any(n in line.timed.timings for line in lines)]
    title = f"µs a call, {machine.threads} thread{'s' * (machine.threads > 1)} (median, ± half of p10 to p90)"
    table = Table(title=title, title_justify="left", title_style="bold", pad_edge=False)
    table.add_column("")
    for name in names:
        table.add_column(_COLUMNS.get(name, name), justify="right")
    for column in ("times best", "limit", "of limit"):
        table.add_column(column, justify="right", style="bold" if column == "times best" else None)
    for line in lines:
        cells = [_cell(line.timed, name) for name in names]
        mark = "*" if line.timed.missing else ""
        ratio = f"{line.timed.ratio:.2f}{mark}"
        table.add_row(line.timed.row.title, *cells, ratio, f"{line.limit_us:.1f}", f"{line.of_limit:.0%}")
    console.print(table)
    console.print(f"geometric mean: {geometric_mean(lines):.2f} times as fast as the best peer")
    console.print(
        f"limits: {machine.gflops:.0f} GFLOP/s (a matrix product), "
        f"{machine.copy_gbs:.1f} GB/s (a copy in memory; more from caches)"
    )
    missing = sorted({name for line in lines for name in line.timed.missing})
    if missing:
        console.print(f"* without {', '.join(missing)}, not installed: `make bench-replay` installs it")
    console.print()
    console.print(_preparation(names, lines))
    console.print()


def _cell(timed: Timed, name: str) -> str:
    if name in timed.missing:
        return "not installed"
    if name not in timed.timings:
        return "-"
    each = timed.timings[name]
    spread = (each.p90_us - each.p10_us) / 2 / each.median_us
    cell = f"{each.median_us:.1f} ±{spread:.0%}"
    return f"[bold]{cell}[/bold]" if name == timed.best_peer else cell


def _preparation(names: list[str], lines: list[Line]) -> Table:
    title = "ms from the model to the first result, and the steps of the fast graph"
    table = Table(title=title, title_justify="left", title_style="bold", pad_edge=False)
    table.add_column("")
    for name in names:
        table.add_column(_COLUMNS.get(name, name), justify="right")
    table.add_column("nodes", justify="right")
    table.add_column("steps")
    table.add_column("KiB", justify="right")
    for line in lines:
        times = line.timed.timings
        cells = [f"{times[n].ready_ms:.1f}" if n in times else "-" for n in names]
        steps = ", ".join(f"{count} {kind}" for kind, count in line.graph["steps"].items() if count)
        pool = f"{line.graph['pool_bytes'] / 1024:.0f}"
        table.add_row(line.timed.row.title, *cells, str(line.graph["nodes"]), steps, pool)
    return table


def document(results: dict[Machine, list[Line]], date: datetime.datetime) -> dict[str, Any]:
    """All that was measured, for `benchmarks/results/`."""
    return {
        "benchmark": "replay",
        "date": date.isoformat(timespec="seconds"),
        "machine": described(),
        "versions": versions(),
        "threads": [
            {
                "threads": machine.threads,
                "sgemm_gflops": machine.gflops,
                "copy_gbs": machine.copy_gbs,
                "geometric_mean": geometric_mean(lines),
                "rows": [_entry(line) for line in lines],
            }
            for machine, lines in results.items()
        ],
    }


def _entry(line: Line) -> dict[str, Any]:
    timed = line.timed
    return {
        "row": timed.row.name,
        "title": timed.row.title,
        "best_peer": timed.best_peer,
        "ratio": timed.ratio,
        "limit_us": line.limit_us,
        "of_limit": line.of_limit,
        **dataclasses.asdict(line.cost),
        "graph": line.graph,
        "calls_a_round": timed.calls,
        "runtimes": {name: dataclasses.asdict(each) for name, each in timed.timings.items()},
        "not_installed": timed.missing,
    }


def keep(content: dict[str, Any], path: pathlib.Path | None) -> pathlib.Path:
    """Writes the document, by default to a name made of the processor and the day."""
    if path is None:
        cpu = re.sub(r"[^a-z0-9]+", "-", content["machine"]["cpu"].lower()).strip("-")
        path = RESULTS / f"replay-{cpu}-{content['date'][:10]}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_rounded(content), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def _rounded(tree: Any) -> Any:
    """Five digits are more than any timing has."""
    if isinstance(tree, float):
        return float(f"{tree:.5g}")
    if isinstance(tree, dict):
        return {key: _rounded(each) for key, each in tree.items()}
    return [_rounded(each) for each in tree] if isinstance(tree, (list, tuple)) else tree
