"""The steps of a graph by time, and how far each is from what the machine can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..accelerator._records import NodeRecord
from ._machine import Machine
from ._printer import Printer

_SOURCES = 3  # operators of a fused step that the table names


def steps(profile: Sequence[tuple[NodeRecord, float]], machine: Machine) -> list[dict[str, Any]]:
    """What JSON says of each step, the longest first."""
    total = sum(seconds for _, seconds in profile) or 1.0
    entries = [_entry(node, seconds, total, machine) for node, seconds in profile]
    return sorted(entries, key=lambda entry: -entry["us"])


def _entry(node: NodeRecord, seconds: float, total: float, machine: Machine) -> dict[str, Any]:
    seconds = max(seconds, 1e-9)  # a clock may not see what is shorter
    least = machine.least_seconds(node.flops, node.nbytes)
    return {
        "node": node.index,
        "op": node.op,
        "sources": list(node.sources),
        "kind": node.step,
        "outputs": list(node.outputs) or list(node.written),
        "us": seconds * 1e6,
        "share": seconds / total,
        "flops": node.flops,
        "bytes": node.nbytes,
        "gbs": node.nbytes / seconds / 1e9,
        "gflops": node.flops / seconds / 1e9,
        "limit_us": least * 1e6,
        "of_limit": least / seconds,
    }


def show(entries: list[dict[str, Any]], most: int, printer: Printer) -> None:
    """A line a step, the first ``most`` of them, and one for the rest."""
    rows = [_cells(entry) for entry in entries[:most]]
    rest = entries[most:]
    if rest:
        time, share = sum(e["us"] for e in rest), sum(e["share"] for e in rest)
        rows.append([f"{share:.1%}", f"{time:.2f}", "", "", "", "", f"{len(rest)} more (--steps)", ""])
    header = ("share", "µs", "GB/s", "GFLOP/s", "of limit", "kind", "step", "makes")
    printer.table(rows, header=header, right=(0, 1, 2, 3, 4))


def _cells(entry: dict[str, Any]) -> list[str]:
    return [
        f"{entry['share']:.1%}",
        f"{entry['us']:.2f}",
        f"{entry['gbs']:.1f}",
        f"{entry['gflops']:.1f}" if entry["flops"] else "",
        f"{entry['of_limit']:.0%}",
        entry["kind"],
        _named(entry),
        ", ".join(entry["outputs"]),
    ]


def _named(entry: dict[str, Any]) -> str:
    """``%4 linear (addmm + relu)``."""
    name = f"%{entry['node']} {_short(entry['op'])}"
    sources = [_short(each) for each in entry["sources"]]
    if not sources:
        return name
    shown = sources[:_SOURCES] + ([f"{len(sources) - _SOURCES} more"] if len(sources) > _SOURCES else [])
    return f"{name} ({' + '.join(shown)})"


def _short(op: str) -> str:
    """``addmm`` of ``aten.addmm.default``, ``linear`` of ``ostinato::linear``."""
    return op.removeprefix("ostinato::").removeprefix("aten.").removesuffix(".default")
