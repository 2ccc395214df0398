"""Plots as SVG text: an effect with its interval, lines on two logarithmic axes, bars. Colours come from the page."""

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

from msgspec import Struct

WIDTH = 760
LEFT = 270
LINE = 26


class Effect(Struct, frozen=True):
    """One line of a forest plot."""

    label: str
    middle: float
    low: float
    high: float
    claimed: float
    kind: str


def _text(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def _svg(height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(title, quote=True)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def forest(title: str, effects: Sequence[Effect], unit: str) -> str:
    """Effects with their intervals; the dashed line is no effect, the diamond what was claimed."""
    low = min([0.0, *(e.low for e in effects)])
    high = max([0.0, *(max(e.high, e.claimed) for e in effects)])
    width = (high - low) or 1.0
    bottom = LINE * len(effects) + 30

    def x(value: float) -> float:
        return LEFT + (value - low) / width * (WIDTH - LEFT - 30)

    parts = [_line(x(0), 10, x(0), bottom - 15, "zero")]
    for place, one in enumerate(effects):
        y = 26 + place * LINE
        where = f"{one.middle:+.1f} ({one.low:+.1f} to {one.high:+.1f}) {unit}"
        parts += [
            f"<g><title>{escape(one.label)}: {where}</title>",
            _text(LEFT - 12, y + 4, one.label, anchor="end"),
            _line(x(one.low), y, x(one.high), y, f"interval {one.kind}"),
            f'<circle cx="{x(one.middle):.1f}" cy="{y}" r="4.5" class="{one.kind}"/>',
            f'<path d="M{x(one.claimed):.1f} {y - 5} l5 5 l-5 5 l-5 -5z" class="claimed"/></g>',
        ]
    near = (0 - low) / width < 0.08
    ends = [(0.0, "middle"), (high, "end"), *([] if near else [(low, "start")])]
    parts += [
        _text(x(value), bottom + 4, f"{value:+.0f}" if value else "0", anchor=anchor, kind="axis")
        for value, anchor in ends
    ]
    return _svg(bottom + 14, title, [*parts, _text(LEFT, bottom + 4, unit, anchor="end", kind="axis")])


def curves(title: str, series: Mapping[str, Sequence[tuple[float, float]]], across: str, up: str) -> str:
    """Lines of points on two logarithmic axes, each named at its end."""
    points = [point for line in series.values() for point in line if min(point) > 0]
    if not points:
        return ""
    bounds = [(floor(log10(min(p[i] for p in points))), ceil(log10(max(p[i] for p in points)))) for i in (0, 1)]
    (x_low, x_high), (y_low, y_high) = ((low, max(high, low + 1)) for low, high in bounds)

    def x(value: float) -> float:
        return 70 + (log10(value) - x_low) / (x_high - x_low) * (WIDTH - 290)

    def y(value: float) -> float:
        return 280 - (log10(value) - y_low) / (y_high - y_low) * 250

    parts = [
        _text(70, 18, up, anchor="start", kind="axis"),
        _text(x(10**x_high), 318, across, anchor="end", kind="axis"),
    ]
    for power in range(y_low, y_high + 1):
        parts += [_line(70, y(10**power), WIDTH - 220, y(10**power), "grid")]
        parts += [_text(62, y(10**power) + 4, f"{10.0**power:g}", anchor="end", kind="axis")]
    parts += [
        _text(x(10**power), 300, f"{10**power:,}", anchor="middle", kind="axis") for power in range(x_low, x_high + 1)
    ]
    taken: list[float] = []
    for place, (name, line) in enumerate(series.items()):
        drawn = [(x(a), y(b)) for a, b in line if a > 0 and b > 0]
        if not drawn:
            continue
        joined = " ".join(f"{a:.1f},{b:.1f}" for a, b in drawn)
        end = drawn[-1][1]
        while any(abs(end - other) < 15 for other in taken):
            end += 15
        taken.append(end)
        parts += [f'<polyline points="{joined}" class="curve s{place}"><title>{escape(name)}</title></polyline>']
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5" class="s{place}"/>' for a, b in drawn]
        parts += [_text(WIDTH - 205, end + 4, name, kind=f"name s{place}")]
    return _svg(326, title, parts)


def bars(title: str, values: Mapping[str, float], unit: str, first: str = "") -> str:
    """One bar a name, longest last; `first` is set off by its colour."""
    longest = max(values.values(), default=0) or 1
    parts: list[str] = []
    for place, (name, value) in enumerate(sorted(values.items(), key=lambda item: item[1])):
        y, width = 8 + place * LINE, value / longest * (WIDTH - LEFT - 110)
        kind = "ours" if name == first else "theirs"
        parts += [
            _text(LEFT - 12, y + 15, name, anchor="end"),
            f'<rect x="{LEFT}" y="{y}" width="{max(width, 1):.1f}" height="18" rx="2" class="{kind}"/>',
            _text(LEFT + width + 8, y + 15, f"{value:,.0f} {unit}"),
        ]
    return _svg(LINE * len(values) + 14, title, parts)
