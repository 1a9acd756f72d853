"""How fresh copies were as time went on, and a drawing of such curves that needs nothing around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from linkscore_lab.report.charts import LABEL_GAP, spread
from linkscore_lab.report.html import Html, tag
from linkscore_lab.revisits.replay import Run

POINTS = 60
"""Points of a curve: one for each tenth of an inch of a drawing, chosen."""
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 340, 52, 150, 34, 40
_COLOURS = ("#1864d6", "#cf4508", "#237a34", "#9030ab", "#c2255c", "#0b7285", "#856404", "#5f3dc4")
"""As `report.css` has them: readable on light paper and on dark."""
_STYLE = "font-family:system-ui,sans-serif;font-size:13px"
_GRID = "#8888"

Curve = NDArray[np.float64]


def fresh_over_time(run: Run) -> Curve:
    """Return the share of fetched pages whose copies are fresh, in the middle of each part of the time."""
    days = _days(run)
    known, fresh = np.zeros(POINTS), np.zeros(POINTS)
    for page, fetches in zip(run.history.pages, run.fetches, strict=True):
        if not fetches:
            continue
        at = np.searchsorted(fetches, days, "right")
        is_known = (at > 0) & (days < page.gone)
        last = np.array(fetches)[np.maximum(at - 1, 0)]
        same = np.searchsorted(page.changes, last, "right") == np.searchsorted(page.changes, days, "right")
        known += is_known
        fresh += is_known & same
    return np.divide(fresh, known, out=np.ones(POINTS), where=known > 0.0)


def found_over_time(run: Run) -> Curve:
    """Return how many pages that appeared since the beginning were found, at the middle of each part."""
    new = [row for row, page in enumerate(run.history.pages) if page.born > 0.0]
    found: Curve = (run.found[new][:, None] <= _days(run)).sum(0).astype(np.float64)
    return found


def born_over_time(run: Run) -> Curve:
    """Return how many pages appeared since the beginning, likewise."""
    born = np.array([page.born for page in run.history.pages if page.born > 0.0])
    there: Curve = (born[:, None] <= _days(run)).sum(0).astype(np.float64)
    return there


def _days(run: Run) -> Curve:
    days: Curve = (np.arange(POINTS) + 0.5) * run.history.days / POINTS
    return days


def drawing(title: str, curves: Mapping[str, Sequence[float]], *, days: float, percent: bool) -> Html:
    """Return curves over a time as SVG, each named where it ends.

    Parameters
    ----------
    title
        Stands above it.
    curves
        Values at even times, by name.
    days
        What the time is in all.
    percent
        Whether values are shares; else they are numbers, from 0 on.
    """
    values = np.concatenate([np.asarray(curve, np.float64) for curve in curves.values()])
    low = np.floor(values.min() * 10.0) / 10.0 if percent else 0.0
    high = 1.0 if percent else max(1.0, float(values.max()))
    low = min(low, high - 0.1)

    def y(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    ends = [100.0 * y(float(curve[-1])) / _HEIGHT for curve in curves.values()]
    lines = [
        _series(name, curve, colour, [y(float(value)) for value in curve], end * _HEIGHT / 100.0)
        for (name, curve), colour, end in zip(
            curves.items(), _COLOURS * len(curves), spread(ends, LABEL_GAP), strict=False
        )
    ]
    step = (0.1 if high - low < 0.65 else 0.2) if percent else high / 4.0
    levels = np.arange(high, low - 1e-9, -step)
    words = [f"{level:.0%}" if percent else f"{level:,.0f}" for level in levels]
    return tag(
        "svg",
        tag("title", title),
        _text(_LEFT, 18, title, font_weight="bold"),
        *(_level(y(level), word) for level, word in zip(levels, words, strict=True)),
        *(_time(part, days) for part in range(5)),
        *lines,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        style=_STYLE,
    )


def _series(name: str, curve: Sequence[float], colour: str, ys: Sequence[float], end: float) -> Html:
    step = (_WIDTH - _LEFT - _RIGHT) / len(curve)
    places = " ".join(f"{_LEFT + (at + 0.5) * step:.0f},{y:.1f}" for at, y in enumerate(ys))
    path = tag("polyline", points=places, fill="none", stroke=colour, stroke_width="2")
    return Html(path + _text(_WIDTH - _RIGHT + 6, end + 4.0, name, fill=colour))


def _level(y: float, word: str) -> Html:
    rule = tag("path", d=f"M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}", stroke=_GRID)
    return Html(rule + _text(_LEFT - 6, y + 4.0, word, text_anchor="end"))


def _time(part: int, days: float) -> Html:
    x = _LEFT + part * (_WIDTH - _LEFT - _RIGHT) / 4.0
    unit = "day" if days < 800.0 else "year"
    value = part * days / 4.0 / (1.0 if unit == "day" else 365.25)
    return _text(x, _HEIGHT - 14, f"{unit} {value:.3g}", text_anchor="middle")


def _text(x: float, y: float, words: str, **style: str) -> Html:
    return tag("text", words, x=f"{x:.0f}", y=f"{y:.1f}", **{"fill": "#777", **style})
