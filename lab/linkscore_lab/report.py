"""One HTML file that shows what the runs of a replay achieved; it loads nothing from anywhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import numpy as np

from linkscore_lab.metrics import DEFINITIONS, even_points
from linkscore_lab.replay.results import (
    Meta,
    Question,
    RunGroup,
    RunResult,
    by_question,
    half_width,
    show_estimate,
    title_of,
)
from linkscore_scoring.errors import InvalidInput

_COLOURS = ("#0b6e99", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#be123c", "#334155", "#0891b2")
# Units of a drawing, and room left of it and below it for figures.
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 400, 70, 60
# A bound of the file: points of a curve. Chosen, not measured.
_MAX_POINTS = 200
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 0 auto; padding: 1rem; color: #1e293b }
table { border-collapse: collapse; margin: 1rem 0 } caption { text-align: left; font-weight: 600 }
.scroll { overflow-x: auto } th, td { padding: .2rem .7rem; text-align: right; white-space: nowrap }
th { font-weight: 500; color: #475569 } tr { border-bottom: 1px solid #e2e8f0 }
th:first-child, td:first-child { text-align: left }
svg { width: 100%; max-width: 50rem; height: auto } svg text { font-size: 14px; fill: #475569 }
dt { font-weight: 600 } .quiet { color: #64748b }
"""
Points = Sequence[tuple[float, float]]


def write_report(path: Path, runs: Sequence[RunResult], meta: Meta) -> None:
    """Write one HTML file about `runs`; a file of that name is replaced, folders are made.

    It needs no network, no other file and no JavaScript, and escapes whatever came from a site.
    """
    if not runs:
        raise InvalidInput("must have at least one run", field="runs")
    questions = by_question(runs)
    sites = list(dict.fromkeys(run.site for run in runs))
    title = f"Replay of {sites[0]}" if len(sites) == 1 else f"Replay of {len(sites)} sites"
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{len(runs):,} runs, made {escape(meta.created)} with linkscore {escape(meta.linkscore)}.</p>",
        "<p class=quiet>A line is the mean over seeds and starts, the shade around it and the ± behind a "
        "figure the 95&nbsp;% interval of that mean; without one, it ran once or came out the same.</p>",
        *(_section(question, groups) for question, groups in questions.items()),
        "<h2>Inputs</h2>",
        _table(
            ("site", "damaged records", "SHA-256 of its files"),
            [(site, f"{one.damaged:,}", one.sha256) for site, one in meta.inputs.items()],
        ),
        "<h2>What the figures mean</h2>",
        "<p>good(n) is the number of target pages among the first n fetches.</p><dl>",
        *(
            f"<dt>{escape(d.label)} <code>{name}</code><dd>{escape(d.text)}"
            for name, d in DEFINITIONS.items()
        ),
        "</dl>",
    ]
    head = (
        '<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width">'
        "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{_STYLE}</style>\n"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head + "\n".join(body) + "\n", encoding="utf-8", errors="replace")


@dataclass(frozen=True, slots=True)
class CurveChart:
    """Curves in one drawing: title, what its axes are, points by name, lower and upper edges of bands."""

    title: str
    x: str
    y: str
    lines: Mapping[str, Points]
    bands: Mapping[str, Sequence[Points]] = field(default_factory=dict)


def drawn(chart: CurveChart) -> str:
    """Return an SVG file: lines with a legend, both axes from 0."""
    lines = chart.lines
    x_max = max((at for points in lines.values() for at, _ in points), default=1.0) or 1.0
    y_max = max((at for points in lines.values() for _, at in points), default=1.0) or 1.0

    def path(points: Iterable[tuple[float, float]]) -> str:
        places = (f"{_LEFT + _WIDTH * a / x_max:.1f} {_HEIGHT - _HEIGHT * b / y_max:.1f}" for a, b in points)
        return "M" + "L".join(places)

    parts = [f"<title>{escape(chart.title)}</title>"]
    for b in _ticks(y_max):
        at = _HEIGHT - _HEIGHT * b / y_max
        shown = f"{b:.0%}" if y_max <= 1 else f"{b:,.0f}"
        parts.append(f'<path d="{path([(0, b), (x_max, b)])}" stroke="#e2e8f0"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{at + 5:.1f}" text-anchor="end">{shown}</text>')
    for a in _ticks(x_max):
        across = f'x="{_LEFT + _WIDTH * a / x_max:.1f}" y="{_HEIGHT + 20}"'
        parts.append(f'<text {across} text-anchor="middle">{a:,.0f}</text>')
    parts.append(
        f'<text x="{_LEFT}" y="{_HEIGHT + 45}">{escape(chart.x)} (across), {escape(chart.y)} (up)</text>'
    )
    for n, (name, points) in enumerate(lines.items()):
        colour, top = _COLOURS[n % len(_COLOURS)], _HEIGHT + _BOTTOM + 22 * n
        if edges := chart.bands.get(name):
            shade = path([*edges[0], *reversed(edges[1])])
            parts.append(f'<path d="{shade}z" fill="{colour}" fill-opacity=".15"/>')
        dashes = ' stroke-dasharray="6 4"' if n >= len(_COLOURS) else ""
        if points:
            parts.append(f'<path d="{path(points)}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        parts.append(f'<path d="M{_LEFT} {top}h30" stroke="{colour}" stroke-width="4"{dashes}/>')
        parts.append(f'<text x="{_LEFT + 40}" y="{top + 5}">{escape(name)}</text>')
    width, height = _LEFT + _WIDTH + 30, _HEIGHT + _BOTTOM + 22 * len(lines)
    box = f'viewBox="0 -15 {width} {height + 15}" font-family="sans-serif" role="img"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box}>{"".join(parts)}</svg>'


def _ticks(most: float) -> list[float]:
    """Return some five values from 0 up, in round steps."""
    power = 10.0 ** math.floor(math.log10(most / 5))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= most / 5)
    return [n * step for n in range(int(most / step + 1e-9) + 1)]


def _section(question: Question, groups: Sequence[RunGroup]) -> str:
    title = title_of(question, groups)
    runs = [run for group in groups for run in group.runs]
    budget, reachable, wanted = (
        max(getattr(run, name) for run in runs) for name in ("budget", "n_reachable", "n_wanted")
    )
    size = f"{budget:,} fetches; {reachable:,} pages can be reached, {wanted:,} of them are target pages."
    curves = {group.policy: _curve(group) for group in groups}
    chart = CurveChart(
        f"Harvest curves of {title}",
        "pages fetched",
        "target pages found",
        {policy: mean for policy, (mean, _) in curves.items()},
        {policy: band for policy, (_, band) in curves.items() if band},
    )
    known = [name for name in DEFINITIONS if any(group.metric(name) for group in groups)]
    table = _table(
        ("policy", *(DEFINITIONS[name].label for name in known), "links out", "CPU s", "runs"),
        [(group.name, *_figures(group, known), *_extras(group)) for group in groups],
    )
    return "\n".join(
        (
            f"<h2>{escape(title)}</h2><p class=quiet>{size}</p>",
            drawn(chart),
            table,
        )
    )


def _curve(group: RunGroup) -> tuple[Points, Sequence[Points]]:
    """Return the mean harvest curve and its interval; a run that ended early keeps its last value."""
    curves = [run.curve or (0,) for run in group.observations]
    points = np.array(even_points(max(map(len, curves)), _MAX_POINTS))
    rows = np.array([np.asarray(curve)[np.minimum(points, len(curve)) - 1] for curve in curves], np.float64)
    mean, half = rows.mean(axis=0), half_width(rows)
    line = [(0.0, 0.0), *zip(points.tolist(), mean.tolist(), strict=True)]
    if half is None:
        return line, ()
    most = np.minimum(points, max(run.n_wanted for run in group.runs))
    edges = np.clip(mean - half, 0, None), np.minimum(mean + half, most)
    return line, [list(zip(points.tolist(), edge.tolist(), strict=True)) for edge in edges]


def _figures(group: RunGroup, names: Iterable[str]) -> list[str]:
    return [show_estimate(group.metric(name), name) for name in names]


def _extras(group: RunGroup) -> list[str]:
    n, different = len(group.runs), len(group.observations)
    links, cpu_s = (
        sum(getattr(run, name) for run in group.runs) / n for name in ("links_out_of_archive", "cpu_seconds")
    )
    return [f"{links:,.0f}", f"{cpu_s:,.1f}", f"{n}" if n == different else f"{n} ({different} differ)"]


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div class=scroll><table><tr>{head}</tr>{body}</table></div>"
