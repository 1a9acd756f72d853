"""What types of page the crawls consisted of as they went on: a stacked area for each policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from linkscore_lab.metrics import even_points
from linkscore_lab.replay.results_records import RunResult
from linkscore_lab.replay.summary import Group
from linkscore_lab.report.html import Html, joined, tag
from linkscore_lab.report.marks import Mark
from linkscore_lab.report.scale import SIZE, Frame, area

N_STEPS = 40
N_WANTED, N_OTHER = 4, 4
OTHER, OTHER_WANTED = "other types", "other wanted types"
Layers = dict[str, npt.NDArray[np.float64]]


def composition_charts(groups: Sequence[Group], marks: Mapping[str, Mark]) -> Html | None:
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


def _layer_names(groups: Sequence[Group], wanted: set[str]) -> dict[str, tuple[str, str]]:
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


def _chart(group: Group, mark: Mark, names: Mapping[str, tuple[str, str]], wanted: set[str]) -> Html:
    found = shares(group.runs)
    frame = Frame(N_STEPS, 1)
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


def _between(frame: Frame, low: npt.NDArray[np.float64], high: npt.NDArray[np.float64]) -> str:
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
            tag("small", " wanted") if style[0] == "w" else None,
        )
        for layer, style in dict.fromkeys(names.values())
    )
    return tag("ul", *items, class_="legend")
