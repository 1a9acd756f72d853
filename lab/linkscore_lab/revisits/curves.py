"""How fresh copies were as time went on, and how many pages were found."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from linkscore_lab.report.drawing import CurveChart
from linkscore_lab.revisits.replay import Run

POINTS = 60
"""Points of a curve. Chosen, not measured."""

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


def chart(title: str, y: str, curves: Mapping[str, Curve], days: float) -> CurveChart:
    """Return curves over the days of a history; values stand in the middle of each part."""
    at = ((np.arange(POINTS) + 0.5) * days / POINTS).tolist()
    lines = {name: list(zip(at, curve.tolist(), strict=True)) for name, curve in curves.items()}
    return CurveChart(title, "days", y, lines)
