"""Harvest curves of the policies that answered one question, with the bands their runs allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linkscore_lab.replay.summary import Band, Group, curve_band
from linkscore_lab.report.html import Html, joined, tag
from linkscore_lab.report.marks import Mark
from linkscore_lab.report.scale import SIZE, Frame, area, line, spread, ticks

LABEL_GAP = 5.8  # per cent of the height: a line of text on a phone
MAX_TICKS = 7


def harvest_chart(groups: Sequence[Group], marks: Mapping[str, Mark], title: str) -> Html:
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
        tag("div", "wanted pages found", class_="axis"),
        plot,
        tag("div", "pages fetched", class_="axis x"),
        class_="chart",
    )


def _frame(groups: Sequence[Group], n_wanted: int) -> Frame:
    x_max = max(max(run.budget, run.fetched) for group in groups for run in group.runs)
    highest = max((run.curve[-1] for group in groups for run in group.runs if run.curve), default=0)
    return Frame(max(1, x_max), max(1, highest, min(x_max, n_wanted)))


def _series(band: Band, mark: Mark, frame: Frame) -> Html:
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


def _grid(frame: Frame) -> Html:
    across = "".join(f"M0 {frame.point(0, y)[1]}H{SIZE}" for y in ticks(frame.y_max, MAX_TICKS))
    return tag("path", d=across, class_="grid")


def _perfect(frame: Frame, n_wanted: int) -> Html:
    corner = min(frame.x_max, n_wanted)
    points = [(0, SIZE), frame.point(corner, corner), frame.point(frame.x_max, corner)]
    return tag("path", tag("title", "a perfect crawl"), d=line(points), class_="perfect")


def _y_axis(frame: Frame) -> Html:
    marks = (_tick("top", frame.point(0, y)[1], y) for y in ticks(frame.y_max, MAX_TICKS))
    return tag("div", *marks, class_="ys", aria_hidden="true")


def _x_axis(frame: Frame) -> Html:
    marks = (_tick("left", frame.point(x, 0)[0], x) for x in ticks(frame.x_max, MAX_TICKS))
    return tag("div", *marks, class_="xs", aria_hidden="true")


def _tick(side: str, place: int, value: int) -> Html:
    return tag("span", f"{value:,}", style=f"{side}:{100 * place / SIZE:g}%")


def _ends(bands: Mapping[str, Band], marks: Mapping[str, Mark], frame: Frame) -> Html:
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
