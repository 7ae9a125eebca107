"""The steps of a graph as a picture: an SVG, each step under what it needs."""

from __future__ import annotations

import html
from typing import Any

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 190, 38, 26, 30
_MOST = 400  # steps; a picture of more shows nothing
_LETTERS = 27  # that fit into a box


def picture(steps: list[dict[str, Any]]) -> str:
    """The first `_MOST` steps; every text of the program's own is escaped."""
    shown = steps[:_MOST]
    parents = _parents(shown)
    places = _places(parents)
    width = max(x for x, _ in places) + _WIDTH
    height = max(y for _, y in places) + _HEIGHT
    total = sum(each["us"] for each in steps) or 1.0
    edges = "".join(_edge(places[p], places[i]) for i, found in enumerate(parents) for p in found)
    boxes = "".join(_box(*place, step, step["us"] / total) for place, step in zip(places, shown, strict=True))
    # The start of the graph at a size that can be read; the rest is a drag away.
    view = f"-10 -10 {max(width, 600) + 20} {min(height, 560) + 20}"
    return (
        f'<svg viewBox="{view}" preserveAspectRatio="xMidYMin meet" role="img" '
        f'aria-label="{len(shown)} steps of the graph">{edges}{boxes}</svg>'
    )


def _parents(steps: list[dict[str, Any]]) -> list[list[int]]:
    """Of each step those whose results it reads, by number."""
    maker: dict[str, int] = {}
    parents = []
    for number, step in enumerate(steps):
        read = {maker[name] for each in step["inputs"] if (name := _storage(each)) in maker}
        parents.append(sorted(read))
        maker.update(dict.fromkeys(map(_storage, step["outputs"]), number))
    return parents


def _storage(name: str) -> str:
    """``t3`` of ``t3:f32[1, 64]``."""
    return name.partition(":")[0]


def _places(parents: list[list[int]]) -> list[tuple[int, int]]:
    """Rows by the longest way from the start; in a row as near as may be below the middle of the parents."""
    rows: list[int] = []
    columns: list[float] = []
    taken: dict[int, list[float]] = {}
    for found in parents:
        row = max((rows[p] + 1 for p in found), default=0)
        wanted = sum(columns[p] for p in found) / len(found) if found else 0.0
        column = _free(wanted, taken.setdefault(row, []))
        taken[row].append(column)
        rows.append(row)
        columns.append(column)
    left = min(columns, default=0.0)
    return [
        (round((c - left) * (_WIDTH + _GAP_X)), r * (_HEIGHT + _GAP_Y))
        for c, r in zip(columns, rows, strict=True)
    ]


def _free(wanted: float, taken: list[float]) -> float:
    """The place nearest to ``wanted`` that is a whole column away from all that are taken."""
    candidates = [wanted, *(t + side for t in taken for side in (-1.0, 1.0))]
    fits = [c for c in candidates if all(abs(c - t) >= 1.0 for t in taken)]
    return min(fits, key=lambda c: abs(c - wanted))


def _edge(start: tuple[int, int], end: tuple[int, int]) -> str:
    x, y = start[0] + _WIDTH // 2, start[1] + _HEIGHT
    u, v = end[0] + _WIDTH // 2, end[1]
    middle = (y + v) // 2
    return f'<path class="edge" d="M{x} {y}C{x} {middle} {u} {middle} {u} {v}"/>'


def _box(x: int, y: int, step: dict[str, Any], share: float) -> str:
    name = short(step)
    cut = name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"
    made = ", ".join(step["outputs"])
    under = f"{share:.1%} {made}"
    under = under if len(under) <= _LETTERS else under[: _LETTERS - 1] + "…"
    title = f"{name}\n{step['kind']}, {step['us']:.2f} µs\n{', '.join(step['inputs'])} → {made}"
    return (
        f"<g><title>{html.escape(title)}</title>"
        f'<rect class="box" x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" '
        f'style="stroke:var(--{html.escape(step["kind"])})"/>'
        f'<text x="{x + 8}" y="{y + 16}">{html.escape(cut)}</text>'
        f'<text class="under" x="{x + 8}" y="{y + 31}">{html.escape(under)}</text></g>'
    )


def short(step: dict[str, Any]) -> str:
    """``linear (addmm + relu)`` for a fused step, ``addmm`` for ``aten.addmm.default``."""
    sources = [_bare(each) for each in step["sources"]]
    name = _bare(step["op"])
    return f"{name} ({' + '.join(sources)})" if sources else name


def _bare(op: str) -> str:
    return (
        op.removeprefix("ostinato::").removeprefix("ostinato.").removeprefix("aten.").removesuffix(".default")
    )


__all__ = ["picture", "short"]
