"""Coverage against wrong share as SVG: one panel for each source, drawn with nothing but text.

Must not know: what the curves mean or where they come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT, GAP, LEFT, TOP, COLUMNS = 250, 180, 70, 55, 70, 3
COLOURS = ("#1b6ca8", "#c0392b", "#2e8b57", "#8e44ad", "#b9770e", "#555555", "#117a65", "#7b241c")
X_MAX = 0.05
X_MARK = 0.01
TICKS = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05)


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves and single points by name, each a pair (wrong share, coverage); ``most``: what a cache that is
    always right would cover."""

    title: str
    curves: Mapping[str, Sequence[tuple[float, float]]]
    points: Mapping[str, tuple[float, float]]
    most: float


def svg(panels: Sequence[Panel]) -> str:
    """The whole picture. Points beyond the right edge are drawn on it, hollow."""
    names = list(dict.fromkeys(name for one in panels for name in (*one.curves, *one.points)))
    colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(names)}
    rows = -(-len(panels) // COLUMNS)
    width, height = LEFT + COLUMNS * (WIDTH + GAP), TOP + rows * (HEIGHT + GAP)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="11"><rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="18" font-size="13">Look-ups answered (up) against look-ups answered wrongly '
        "(right), exact repeats left out. Dashed: 1 % wrong; what is there to be found</text>",
    ]
    for place, name in enumerate(names):
        x = LEFT + place * 118
        out.append(f'<rect x="{x}" y="32" width="10" height="10" fill="{colours[name]}"/>')
        out.append(f'<text x="{x + 14}" y="41">{escape(name)}</text>')
    for place, panel in enumerate(panels):
        out += _panel(
            panel, colours, LEFT + place % COLUMNS * (WIDTH + GAP), TOP + place // COLUMNS * (HEIGHT + GAP)
        )
    return "\n".join((*out, "</svg>\n"))


def _panel(panel: Panel, colours: Mapping[str, str], left: int, top: int) -> list[str]:
    drawn = [y for curve in panel.curves.values() for x, y in curve if x <= X_MAX]
    y_max = max([panel.most, *drawn, *(y for x, y in panel.points.values() if x <= X_MAX), 0.01]) * 1.08

    def at(x: float, y: float) -> tuple[float, float]:
        return round(left + min(x, X_MAX) / X_MAX * WIDTH, 1), round(
            top + (1 - min(1.0, y / y_max)) * HEIGHT, 1
        )

    out = [
        f'<text x="{left}" y="{top - 6}" font-weight="bold">{escape(panel.title)}</text>',
        f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>',
    ]
    for tick in TICKS:
        x, _ = at(tick, 0)
        out.append(f'<text x="{x}" y="{top + HEIGHT + 13}" text-anchor="middle">{100 * tick:.0f} %</text>')
    for share in (0.0, y_max / 2.16, y_max / 1.08):
        _, y = at(0, share)
        out.append(f'<text x="{left - 4}" y="{y + 4}" text-anchor="end">{100 * share:.0f} %</text>')
    for (x, y), (x2, y2) in ((at(0, panel.most), at(X_MAX, panel.most)), (at(X_MARK, 0), at(X_MARK, y_max))):
        out.append(f'<path d="M{x} {y}L{x2} {y2}" stroke="#999" stroke-dasharray="3 3" fill="none"/>')
    for name, curve in panel.curves.items():
        line = " ".join(f"{x},{y}" for x, y in (at(*point) for point in curve if point[0] <= X_MAX))
        out.append(f'<polyline points="{line}" fill="none" stroke="{colours[name]}" stroke-width="1.6"/>')
    for name, point in panel.points.items():
        x, y = at(*point)
        fill = colours[name] if point[0] <= X_MAX else "white"
        title = f"<title>{escape(name)}: {100 * point[1]:.1f} %, wrong {100 * point[0]:.2f} %</title>"
        out.append(
            f'<circle cx="{x}" cy="{y}" r="3.5" fill="{fill}" stroke="{colours[name]}">{title}</circle>'
        )
    return out
