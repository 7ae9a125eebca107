"""What ``debug_dump`` writes: Graphviz, JSON, or a page that needs nothing but a browser."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from ._page import page
from ._records import NodeRecord, storage_of


def rendered(path: str, nodes: Sequence[NodeRecord], numerics: str, stats: dict[str, Any]) -> str:
    """The graph in the form that the end of ``path`` asks for."""
    if path.endswith(".json"):
        document = {"numerics": numerics, "stats": stats, "nodes": [dataclasses.asdict(n) for n in nodes]}
        return json.dumps(document, indent=1) + "\n"
    if path.endswith(".html"):
        return page(nodes, numerics, stats)
    return to_dot(nodes)


def to_dot(nodes: Sequence[NodeRecord]) -> str:
    """The Graphviz language: a box a node, an arrow a storage read after it was written."""
    lines = ["digraph ostinato {", "  node [shape=box, fontname=monospace];"]
    last: dict[str, int] = {}
    for node in nodes:
        label = "\n".join([node.op, *([" + ".join(node.sources)] if node.sources else [])])
        lines.append(f"  n{node.index} [label={json.dumps(label)}];")
        for name in node.inputs:
            if (storage := storage_of(name)) in last:
                lines.append(f"  n{last[storage]} -> n{node.index} [label={json.dumps(name)}];")
        for storage in [*map(storage_of, node.outputs), *node.written]:
            last[storage] = node.index
    return "\n".join([*lines, "}", ""])
