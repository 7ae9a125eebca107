"""``print(g)``: a line a node, aligned, with what does it and what it stands for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ._records import NodeRecord

_NOTHING = "-"  # the step of a node that has none
_WIDEST = 40  # of the column of results; a longer one pushes its own line alone


def listing(title: str, nodes: Sequence[NodeRecord], stats: dict[str, Any]) -> str:
    """The text of a graph."""
    if not nodes:  # nothing was recorded, or the device shows no nodes
        return f"{title}: {summary(nodes, stats)}" if stats else title
    made = [", ".join(node.outputs) or _changed(node) for node in nodes]
    widths = (
        len(str(nodes[-1].index)),
        max(len(node.step or _NOTHING) for node in nodes),
        max((len(each) for each in made if len(each) <= _WIDEST), default=_WIDEST),
    )
    lines = [f"{title}: {summary(nodes, stats)}"]
    for node, result in zip(nodes, made, strict=True):
        lines += _lines(node, result, widths)
    return "\n".join(lines)


def summary(nodes: Sequence[NodeRecord], stats: dict[str, Any]) -> str:
    """``7 nodes as 4 steps (4 fused), 2.0 KiB of intermediates``."""
    kinds = {kind: count for kind, count in stats.get("steps", {}).items() if count}
    recorded = stats.get("nodes", len(nodes))
    parts = [f"{recorded} node{'s' * (recorded != 1)}"]
    if kinds:
        total = sum(kinds.values())
        by_kind = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        parts[0] += f" as {total} step{'s' * (total != 1)} ({by_kind})"
    if "pool_bytes" in stats:
        parts.append(f"{stats['pool_bytes'] / 1024:.1f} KiB of intermediates")
    return ", ".join(parts)


def _lines(node: NodeRecord, result: str, widths: tuple[int, int, int]) -> list[str]:
    number, step, column = widths
    head = f"%{node.index:<{number}}  {node.step or _NOTHING:<{step}}  "
    marks = "  random" * node.random
    where = f"  # {os.path.relpath(node.where) if _near(node.where) else node.where}"
    lines = [f"{head}{result:<{column}} = {node.op}({', '.join(node.inputs)}){marks}{where}"]
    if len(node.sources) > 1:
        lines.append(f"{' ' * len(head)}{'':<{column}}   {' + '.join(node.sources)}")
    return lines


def _changed(node: NodeRecord) -> str:
    return ", ".join(node.written) or _NOTHING


def _near(where: str) -> bool:
    """Whether a line lies in a file below the working directory."""
    return where.startswith(os.getcwd() + os.sep)
