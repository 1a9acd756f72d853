"""Curves as one small SVG that needs nothing around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from linkscore_lab.report.charts import MAX_TICKS, SIZE, Axes, line, ticks
from linkscore_lab.report.html import Html, joined, tag

_COLOURS = ("#0b6e99", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#be123c", "#334155", "#0891b2")
_LEFT, _TOP, _LINE = 110, 20, 44
"""Room for the figures of the y axis, above the drawing, and of a line of text; in units of the drawing."""
_WIDE = 1.5
"""Width of the drawing over its height."""
_TOPS = (0.25, 0.5, 1.0)
"""Where the y axis of shares may end."""


@dataclass(frozen=True, slots=True)
class CurveChart:
    """Curves in one drawing.

    Attributes
    ----------
    title, x, y
        What it shows, and what its axes are.
    lines
        Points of each curve by its name. Where no value is above 1, all are shares.
    """

    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, float]]]


def drawn(chart: CurveChart) -> Html:
    """Return the file: axes from 0 to a round figure, shares as per cent, and a legend below."""
    x_max = max((x for points in chart.lines.values() for x, _ in points), default=1.0)
    y_max = max((y for points in chart.lines.values() for _, y in points), default=1.0)
    shares = y_max <= 1.0
    axes = Axes(max(1.0, x_max) / _WIDE, next(top for top in _TOPS if top >= y_max) if shares else y_max)
    curves = [
        tag(
            "path",
            d=line(axes.points(*zip(*points, strict=True))),
            fill="none",
            stroke=_COLOURS[n % len(_COLOURS)],
            stroke_width=4,
            stroke_dasharray="12 8" if n >= len(_COLOURS) else None,
        )
        for n, points in enumerate(chart.lines.values())
        if points
    ]
    height = _TOP + SIZE + _LINE * (3 + len(chart.lines))
    width = _LEFT + _WIDE * SIZE + 60
    inside = tag("g", *_grid(axes, x_max, shares=shares), *curves, transform=f"translate({_LEFT} {_TOP})")
    return tag(
        "svg",
        tag("title", chart.title),
        tag("rect", width=width, height=height, fill="#fff"),
        inside,
        _legend(chart),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        font_family="sans-serif",
        font_size=30,
        fill="#334155",
    )


def _grid(axes: Axes, x_max: float, *, shares: bool) -> list[Html]:
    """Return lines across, and the figures of both axes."""
    parts = []
    for y in ticks(round(100 * axes.y_max) if shares else axes.y_max, MAX_TICKS):
        _, at = axes.point(0, y / 100 if shares else y)
        parts.append(tag("path", d=f"M0 {at}H{_WIDE * SIZE:g}", stroke="#e2e8f0", stroke_width=2))
        parts.append(tag("text", f"{y} %" if shares else f"{y:,}", x=-12, y=at + 10, text_anchor="end"))
    for x in ticks(x_max, MAX_TICKS):
        at, _ = axes.point(x, 0)
        parts.append(tag("text", f"{x:,}", x=at, y=SIZE + _LINE, text_anchor="middle"))
    return parts


def _legend(chart: CurveChart) -> Html:
    top = _TOP + SIZE + 2 * _LINE
    texts = [tag("text", f"{chart.x} (across), {chart.y} (up)", x=_LEFT, y=top)]
    for n, name in enumerate(chart.lines):
        at = top + _LINE * (n + 1)
        colour = _COLOURS[n % len(_COLOURS)]
        texts.append(tag("path", d=f"M{_LEFT} {at - 10}h60", stroke=colour, stroke_width=6))
        texts.append(tag("text", name, x=_LEFT + 80, y=at))
    return joined(*texts)
