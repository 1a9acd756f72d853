"""A living site and three schedules in one picture: the command ``picture FILE.svg``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from linkscore_lab.report import CurveChart, drawn
from linkscore_research.revisits.histories import living
from linkscore_research.revisits.replay import SCHEDULES, Run, follow, schedule_named

POINTS = 60
"""Points of a curve. Chosen, not measured."""


def main(argv: Sequence[str]) -> None:
    """Write the picture, and print what each schedule reached."""
    parser = argparse.ArgumentParser(
        prog="python -m linkscore_research.revisits picture", description=__doc__
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=100, help="of the living site")
    parser.add_argument("--fetches", type=float, default=4.0, help="a page and year")
    given = parser.parse_args(argv)
    site = living(given.seed)
    runs = {rule: follow(site, schedule_named(rule), given.fetches) for rule in SCHEDULES}
    for rule, run in runs.items():
        print(f"{rule:10} {run.measured().freshness:.3f} fresh, {run.total:,} fetches")
    title = f"Fresh copies of {len(site.pages)} pages, {given.fetches:g} fetches a page and year"
    curves = {rule: fresh_over_time(run) for rule, run in runs.items()}
    picture = drawn(CurveChart(title, "days", "share of copies that are fresh", curves))
    given.file.write_text(f"{picture}\n", encoding="utf-8")


def fresh_over_time(run: Run) -> list[tuple[float, float]]:
    """Return day, and the share of fetched pages whose copies are fresh then."""
    days = (np.arange(POINTS) + 0.5) * run.history.days / POINTS
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
    shares = np.divide(fresh, known, out=np.ones(POINTS), where=known > 0.0)
    return list(zip(days.tolist(), shares.tolist(), strict=True))
