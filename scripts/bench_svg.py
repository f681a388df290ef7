"""Two kinds of plots as plain SVG: bars and curves, on logarithmic axes, for light and dark."""

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

WIDTH, MARGIN = 760, 16
TOP, BAR, GAP = 64, 18, 8
LABELS, VALUES = 290, 70
"""Room left of the bars, and right of the longest."""
PLOT_HEIGHT, LEFT, RIGHT, BOTTOM = 300, 64, 190, 46
LABEL_HEIGHT = 16
STYLE = """<style>
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
.title { font-size: 16px; font-weight: 600; }
.faint { fill: #59636e; }
.number { font-variant-numeric: tabular-nums; }
.ground { fill: #ffffff; }
.grid { stroke: #d1d9e0; }
.ours, .c0 { --c: #1f6feb; } .other, .c4 { --c: #6e7781; }
.c1 { --c: #bc4c00; } .c2 { --c: #1a7f37; } .c3 { --c: #8250df; }
rect.bar, text.series, circle { fill: var(--c); }
polyline { fill: none; stroke: var(--c); stroke-width: 2; }
polyline.slow { stroke-width: 1; stroke-dasharray: 4 3; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .faint { fill: #9198a1; } .ground { fill: #0d1117; }
.grid { stroke: #30363d; }
.ours, .c0 { --c: #58a6ff; } .other, .c4 { --c: #9198a1; }
.c1 { --c: #f0883e; } .c2 { --c: #56d364; } .c3 { --c: #bc8cff; }
}
</style>"""


class Bar(NamedTuple):
    """One value; ours stand out."""

    name: str
    value: float
    is_ours: bool


class Curve(NamedTuple):
    """Points of (size, median, the slowest in a hundred)."""

    name: str
    points: Sequence[tuple[float, float, float]]


class Scale(NamedTuple):
    """Where a value stands between two pixels, by its logarithm."""

    least: float
    most: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        share = math.log(max(value, self.least) / self.least) / math.log(self.most / self.least)
        return self.begin + share * (self.end - self.begin)

    def powers(self) -> list[float]:
        first, last = math.log10(self.least), math.log10(self.most)
        return [10.0**n for n in range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)]


def times(value: float) -> str:
    """With as many digits as mean something."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def bars(title: str, subtitle: str, values: Sequence[Bar]) -> str:
    """Values from large to small, one below the other."""
    height = TOP + len(values) * (BAR + GAP) + 34
    bottom = height - 30
    most = max(bar.value for bar in values)
    scale = Scale(0.5, 10 ** math.ceil(math.log10(most)), LABELS, WIDTH - VALUES)
    parts = [*_head(title, subtitle, height)]
    for power in scale.powers():
        x = scale.at(power)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>')
        parts.append(_text(x, bottom + 18, f"{power:,.0f}x", "faint number", "middle"))
    for number, bar in enumerate(sorted(values, key=lambda bar: -bar.value)):
        y = TOP + number * (BAR + GAP) + GAP / 2
        end = scale.at(bar.value)
        kind = "ours" if bar.is_ours else "other"
        parts.append(_text(LABELS - 8, y + 14, bar.name, "", "end"))
        width = max(end - LABELS, 1)
        parts.append(
            f'<rect class="bar {kind}" x="{LABELS}" y="{y:.1f}" width="{width:.1f}"'
            f' height="{BAR}" rx="2"/>'
        )
        parts.append(_text(end + 6, y + 14, f"{times(bar.value)}x", "number", "start"))
    return _whole(title, parts, height)


def curves(title: str, subtitle: str, drawn: Sequence[Curve]) -> str:
    """Medians as lines, the slowest in a hundred dashed, names at their ends."""
    height = TOP + PLOT_HEIGHT + BOTTOM
    points = [point for curve in drawn for point in curve.points]
    values = [value for point in points for value in point[1:]]
    x_axis = Scale(min(p[0] for p in points), max(p[0] for p in points), LEFT, WIDTH - RIGHT)
    lowest, highest = (10 ** edge(math.log10(of(values))) for edge, of in EDGES)
    y_axis = Scale(lowest, highest, TOP + PLOT_HEIGHT, TOP)
    parts = [*_head(title, subtitle, height), *_axes(x_axis, y_axis)]
    ends = []
    for number, curve in enumerate(drawn):
        for part, kind in ((1, ""), (2, "slow ")):
            path = " ".join(
                f"{x_axis.at(point[0]):.1f},{y_axis.at(point[part]):.1f}" for point in curve.points
            )
            parts.append(f'<polyline class="{kind}c{number}" points="{path}"/>')
        for size, value, _ in curve.points:
            x, y = x_axis.at(size), y_axis.at(value)
            parts.append(f'<circle class="c{number}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>')
        ends.append((y_axis.at(curve.points[-1][1]), number, curve.name))
    for y, number, name in _apart(ends):
        parts.append(_text(WIDTH - RIGHT + 10, y + 4, name, f"series c{number}", "start"))
    return _whole(title, parts, height)


EDGES = ((math.floor, min), (math.ceil, max))


def _axes(x_axis: Scale, y_axis: Scale) -> Iterator[str]:
    left, right, bottom = x_axis.begin, x_axis.end, y_axis.begin
    for power in y_axis.powers():
        y = y_axis.at(power)
        yield f'<line class="grid" x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield _text(left - 8, y + 4, f"{power:g} ms", "faint number", "end")
    for power in x_axis.powers():
        yield _text(x_axis.at(power), bottom + 20, f"{power:,.0f}", "faint number", "middle")


def _apart(ends: Sequence[tuple[float, int, str]]) -> Iterator[tuple[float, int, str]]:
    """The names at the ends of the curves, none over another."""
    free = -math.inf
    for y, number, name in sorted(ends):
        free = max(y, free + LABEL_HEIGHT)
        yield free, number, name


def _head(title: str, subtitle: str, height: float) -> Iterator[str]:
    yield f'<rect class="ground" width="{WIDTH}" height="{height}" rx="6"/>'
    yield _text(MARGIN, 28, title, "title", "start")
    yield _text(MARGIN, 48, subtitle, "faint", "start")


def _text(x: float, y: float, words: str, kind: str, anchor: str) -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(words)}</text>"
    )


def _whole(title: str, parts: Sequence[str], height: float) -> str:
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    return "\n".join([head, f"<title>{escape(title)}</title>", STYLE, *parts, "</svg>", ""])
