"""Charts of the report as SVG: harvest curves with their bands, and what was fetched as the crawl went on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, log10

import numpy as np
import numpy.typing as npt

from linkscore_lab.metrics import even_points
from linkscore_lab.replay.results import RunResult
from linkscore_lab.replay.summary import Band, RunGroup, curve_band
from linkscore_lab.report.html import Html, PolicyMark, joined, tag

# Units of a drawing: finer than its pixels, and whole numbers are short.
SIZE = 1000
Point = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Axes:
    """A drawing whose axes start at 0 and end at `x_max` and `y_max`, both above 0."""

    x_max: float
    y_max: float

    def point(self, x: float, y: float) -> Point:
        """Return the place of a value; the y axis of a drawing points down."""
        return round(SIZE * x / self.x_max), round(SIZE - SIZE * y / self.y_max)

    def points(self, xs: Iterable[float], ys: Iterable[float]) -> list[Point]:
        """Return the places of many values."""
        return [self.point(x, y) for x, y in zip(xs, ys, strict=True)]


def line(points: Sequence[Point]) -> str:
    """Return the path through `points`, by steps: shorter than places."""
    moves = " ".join(f"{b[0] - a[0]} {b[1] - a[1]}" for a, b in pairwise(points)).replace(" -", "-")
    return f"M{points[0][0]} {points[0][1]}" + (f"l{moves}" if moves else "")


def area(upper: Sequence[Point], lower: Sequence[Point]) -> str:
    """Return the closed path along `upper` and back along `lower`."""
    return line([*upper, *reversed(lower)]) + "z"


def ticks(highest: float, most: int) -> list[int]:
    """Return at most `most` whole numbers from 0 up to `highest`, in round steps."""
    raw = max(1.0, highest / (most - 1))
    power = 10 ** floor(log10(raw))
    steps = (power * part // 4 for part in (4, 8, 10, 20, 40))  # 1, 2, 2.5, 5, 10 times a power of ten
    step = next(step for step in steps if step >= raw)
    return list(range(0, int(highest) + 1, step))


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Move `places`, in [0, 100], apart until neighbours are `gap` away from each other; the order stays.

    Where they cannot all have their gap, they share the room evenly.
    """
    gap = min(gap, 100 / max(1, len(places) - 1))
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = [0.0] * len(places)
    lowest = 0.0
    for i in order:
        moved[i] = lowest = max(lowest, places[i])
        lowest += gap
    highest = 100.0
    for i in reversed(order):
        moved[i] = min(highest, moved[i])
        highest = moved[i] - gap
    return moved


LABEL_GAP = 5.8  # per cent of the height: a line of text on a phone
# A bound on the figures of an axis. Chosen, not measured.
MAX_TICKS = 7


def harvest_chart(groups: Sequence[RunGroup], marks: Mapping[str, PolicyMark], title: str) -> Html:
    """Return the figure: wanted pages found over pages fetched; the line of a perfect crawl is dotted.

    Parameters
    ----------
    groups
        Drawn in this order, names at the right; the first ends on top.
    marks
        Of each policy.
    title
        What a screen reader says of the figure.
    """
    bands = {group.policy: curve_band(group) for group in groups}
    n_wanted = max(run.n_wanted for group in groups for run in group.runs)
    frame = _frame(groups, n_wanted)
    series = [_series(bands[policy], marks[policy], frame) for policy in reversed(bands)]
    drawing = tag(
        "svg",
        tag("title", title),
        _grid(frame),
        _perfect(frame, n_wanted),
        *series,
        viewBox=f"0 0 {SIZE} {SIZE}",
        preserveAspectRatio="none",
        role="img",
        data_x=frame.x_max,
        data_y=frame.y_max,
    )
    plot = tag("div", _y_axis(frame), drawing, _ends(bands, marks, frame), _x_axis(frame), class_="plot")
    return tag(
        "figure",
        tag("div", "target pages found", class_="axis"),
        plot,
        tag("div", "pages fetched", class_="axis x"),
        class_="chart",
    )


def _frame(groups: Sequence[RunGroup], n_wanted: int) -> Axes:
    x_max = max(max(run.budget, run.fetched) for group in groups for run in group.runs)
    highest = max((run.curve[-1] for group in groups for run in group.runs if run.curve), default=0)
    return Axes(max(1, x_max), max(1, highest, min(x_max, n_wanted)))


def _series(band: Band, mark: PolicyMark, frame: Axes) -> Html:
    points = [(0, SIZE), *frame.points(band.points, band.mean)]
    shade = None
    if band.low is not None and band.high is not None:
        edges = (frame.points(band.points, side) for side in (band.high, band.low))
        shade = tag("path", d=area(*edges), class_="band")
    curve = tag("path", d=line(points), class_="line")
    end = tag("path", d=f"M{points[-1][0]} {points[-1][1]}h0", class_="end")
    return tag(
        "g", tag("title", mark.policy), shade, curve, end, class_=f"s {mark.style}", data_p=mark.number
    )


def _grid(frame: Axes) -> Html:
    across = "".join(f"M0 {frame.point(0, y)[1]}H{SIZE}" for y in ticks(frame.y_max, MAX_TICKS))
    return tag("path", d=across, class_="grid")


def _perfect(frame: Axes, n_wanted: int) -> Html:
    corner = min(frame.x_max, n_wanted)
    points = [(0, SIZE), frame.point(corner, corner), frame.point(frame.x_max, corner)]
    return tag("path", tag("title", "a perfect crawl"), d=line(points), class_="perfect")


def _y_axis(frame: Axes) -> Html:
    marks = (_tick("top", frame.point(0, y)[1], y) for y in ticks(frame.y_max, MAX_TICKS))
    return tag("div", *marks, class_="ys", aria_hidden="true")


def _x_axis(frame: Axes) -> Html:
    marks = (_tick("left", frame.point(x, 0)[0], x) for x in ticks(frame.x_max, MAX_TICKS))
    return tag("div", *marks, class_="xs", aria_hidden="true")


def _tick(side: str, place: int, value: int) -> Html:
    return tag("span", f"{value:,}", style=f"{side}:{100 * place / SIZE:g}%")


def _ends(bands: Mapping[str, Band], marks: Mapping[str, PolicyMark], frame: Axes) -> Html:
    """Name each curve where it ends, apart from its neighbours."""
    lasts = [band.mean[-1] if band.mean else 0.0 for band in bands.values()]
    tops = spread([100 * frame.point(0, last)[1] / SIZE for last in lasts], LABEL_GAP)
    labels = (
        tag(
            "span",
            joined(tag("b", str(marks[policy].number)), " ", tag("i", policy)),
            class_=marks[policy].style,
            data_p=marks[policy].number,
            style=f"top:{top:.1f}%",
            title=policy,
        )
        for policy, top in zip(bands, tops, strict=True)
    )
    return tag("div", *labels, class_="ends", aria_hidden="true")


# Steps of a small chart. Chosen, not measured.
N_STEPS = 40
# Shades that can be told apart; the colours are in report.css.
N_WANTED, N_OTHER = 4, 4
OTHER, OTHER_WANTED = "other types", "other target types"
Layers = dict[str, npt.NDArray[np.float64]]


def composition_charts(groups: Sequence[RunGroup], marks: Mapping[str, PolicyMark]) -> Html | None:
    """Return a small stacked area of each policy, wanted types at the bottom; None without page types."""
    groups = [group for group in groups if any(run.composition for run in group.runs)]
    if not groups:
        return None
    wanted = {name for group in groups for run in group.runs for name in run.wanted_types}
    names = _layer_names(groups, wanted)
    charts = (_chart(group, marks[group.policy], names, wanted) for group in groups)
    return joined(_legend(names), tag("div", *charts, class_="small"))


def shares(runs: Sequence[RunResult], n_steps: int = N_STEPS) -> Layers:
    """Return the share of each page type among the fetches so far, the mean over runs.

    Shapes: (n_steps,) for each type; step i is the look at (i + 1) / n_steps of each run.
    """
    layers: Layers = {}
    runs = [run for run in runs if run.composition]
    for run in runs:
        points = even_points(run.fetched)
        steps = [-(-(i + 1) * len(points) // n_steps) - 1 for i in range(n_steps)]
        for name, counts in run.composition.items():
            at = np.array([counts[step] / points[step] for step in steps])
            layers[name] = layers.get(name, 0) + at / len(runs)
    return layers


def _layer_names(groups: Sequence[RunGroup], wanted: set[str]) -> dict[str, tuple[str, str]]:
    """Return layer and CSS class of each page type, bottom first: wanted ones, then the rest, by size."""
    totals = Counter[str]()
    for group in groups:
        for name, counts in group.runs[0].composition.items():
            totals[name] += counts[-1] if counts else 0
    ranked = [name for name, _ in totals.most_common()]
    good = _limited([name for name in ranked if name in wanted], N_WANTED, OTHER_WANTED, "w")
    return good | _limited([name for name in ranked if name not in wanted], N_OTHER, OTHER, "u")


def _limited(names: Sequence[str], most: int, rest: str, style: str) -> dict[str, tuple[str, str]]:
    layers = {name: (name, f"{style}{i}") for i, name in enumerate(names[:most])}
    return layers | dict.fromkeys(names[most:], (rest, f"{style}{most}"))


def _chart(group: RunGroup, mark: PolicyMark, names: Mapping[str, tuple[str, str]], wanted: set[str]) -> Html:
    found = shares(group.runs)
    frame = Axes(N_STEPS, 1)
    floor = np.zeros(N_STEPS)
    paths, ends, border = [], [], None
    for layer, style in dict.fromkeys(names.values()):
        height = sum((found[n] for n in found if names.get(n, (OTHER, ""))[0] == layer), np.zeros(N_STEPS))
        paths.append(tag("path", tag("title", layer), d=_between(frame, floor, floor + height), class_=style))
        floor = floor + height
        ends.append((float(height[-1]), layer))
        border = floor if style.startswith("w") else border
    if border is not None:
        paths.append(tag("path", d=_between(frame, border, border), class_="border"))
    title = f"{mark.policy}: {_in_words(ends, 9)}"
    drawing = tag(
        "svg",
        tag("title", title),
        *paths,
        viewBox=f"0 0 {SIZE} {SIZE}",
        preserveAspectRatio="none",
        role="img",
    )
    caption = tag("figcaption", mark.label(), tag("small", _in_words(ends, 3)))
    return tag("figure", drawing, caption, data_p=mark.number)


def _between(frame: Axes, low: npt.NDArray[np.float64], high: npt.NDArray[np.float64]) -> str:
    xs = [0, *range(2, N_STEPS + 1)]
    return area(frame.points(xs, high), frame.points(xs, low))


def _in_words(ends: Sequence[tuple[float, str]], most: int) -> str:
    largest = sorted((end for end in ends if end[0] >= 0.005), reverse=True)[:most]
    return ", ".join(f"{name} {100 * share:.0f}\u00a0%" for share, name in largest)


def _legend(names: Mapping[str, tuple[str, str]]) -> Html:
    items = (
        tag(
            "li",
            tag("span", class_=f"box {style}"),
            layer,
            tag("small", " target") if style[0] == "w" else None,
        )
        for layer, style in dict.fromkeys(names.values())
    )
    return tag("ul", *items, class_="legend")
