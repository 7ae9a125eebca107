"""Curves over powers of two as an SVG file: no library, no fonts, readable on light and dark pages."""

from __future__ import annotations

import math

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 400, 50, 40, 180, 45
COLOURS = ("#4477aa", "#ee6677", "#228833", "#aa3377", "#ccbb44", "#66ccee")


def curves(title: str, across: str, lines: dict[str, list[tuple[int, float]]]) -> str:
    """Both axes logarithmic; a line at 1 divides what is faster from what is slower."""
    xs = sorted({x for line in lines.values() for x, _ in line})
    most = max(y for line in lines.values() for _, y in line)
    low, high = -1, max(1, math.ceil(math.log2(most)))

    def at(x: float, y: float) -> tuple[float, float]:
        right = (math.log2(x) - math.log2(xs[0])) / (math.log2(xs[-1]) - math.log2(xs[0]))
        up = (math.log2(max(y, 2.0**low)) - low) / (high - low)
        return LEFT + right * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    parts = [_text(LEFT, 20, title)]
    for power in range(low, high + 1):
        (x0, y), (x1, _) = at(xs[0], 2.0**power), at(xs[-1], 2.0**power)
        weight = 1.5 if power == 0 else 0.3
        parts.append(f'<path d="M{x0:.1f},{y:.1f}H{x1:.1f}" stroke="#888" stroke-width="{weight}"/>')
        parts.append(_text(LEFT - 8, y + 4, f"{2.0**power:g}", "end"))
    for x in xs:
        parts.append(_text(at(x, 1)[0], HEIGHT - BOTTOM + 18, str(x), "middle"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, across, "middle"))
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number // 2 % len(COLOURS)]
        dash = ' stroke-dasharray="5 4"' if number % 2 else ""
        path = "L".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y in line)
        parts.append(f'<path d="M{path}" stroke="{colour}" stroke-width="2" fill="none"{dash}/>')
        y = TOP + 10 + 20 * number
        parts.append(f'<path d="M{WIDTH - RIGHT + 12},{y}h24" stroke="{colour}" stroke-width="2"{dash}/>')
        parts.append(_text(WIDTH - RIGHT + 42, y + 4, name))
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">\n{body}\n</svg>\n'


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    style = 'font-family="sans-serif" font-size="12" fill="#888"'
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {style}>{words}</text>'
