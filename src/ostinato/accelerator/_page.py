"""A graph as one page of HTML that loads nothing from elsewhere; ``_page.html`` is its template."""

from __future__ import annotations

import html
import pathlib
import string
from collections.abc import Iterable, Sequence
from typing import Any

from ._listing import summary
from ._records import NodeRecord, storage_of


def page(nodes: Sequence[NodeRecord], numerics: str, stats: dict[str, Any]) -> str:
    """The page; every text of the program's own is escaped."""
    template = pathlib.Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
    return string.Template(template).substitute(
        title=f"Graph, {numerics} numerics",
        summary=html.escape(summary(nodes, stats)),
        bar="".join(_part(kind, count) for kind, count in stats.get("steps", {}).items() if count),
        rows="\n".join(map(_row, nodes)),
    )


def _part(kind: str, count: int) -> str:
    return f'<span class="{kind}" style="flex:{count}" title="{count} {kind}">{count} {kind}</span>'


def _row(node: NodeRecord) -> str:
    operator = html.escape(node.op)
    if node.sources:
        operator += f'<div class="sources">{html.escape(" + ".join(node.sources))}</div>'
    cells = (
        f'<td class="number">{node.index}</td>',
        f'<td class="kind {node.step}">{node.step or "-"}</td>',
        f"<td>{operator}</td>",
        f"<td>{_values(node.outputs or node.written)}</td>",
        f"<td>{_values(node.inputs)}</td>",
        f'<td class="number">{node.flops / 1e3:,.0f}</td>',
        f'<td class="number">{node.nbytes / 1024:,.1f}</td>',
        f'<td class="where" title="{html.escape(node.where)}">&lrm;{html.escape(node.where)}</td>',
    )
    return f"<tr>{''.join(cells)}</tr>"


def _values(names: Iterable[str]) -> str:
    spans = (f'<span class="value" data-s="{storage_of(n)}">{html.escape(n)}</span>' for n in names)
    return "<br>".join(spans)
