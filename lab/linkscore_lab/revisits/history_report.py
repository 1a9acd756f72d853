"""What schedules reached on a site kept in git: a table, figures as JSON, and a page with curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from linkscore_lab.report.drawing import CurveChart, drawn
from linkscore_lab.report.html import Html, tag
from linkscore_lab.report.page import head
from linkscore_lab.revisits.curves import Curve, born_over_time, chart, found_over_time, fresh_over_time
from linkscore_lab.revisits.replay import Measured, Run

ORACLE = "rates known"
"""Name of the schedule that knows how often each page changes."""
_COLUMNS = {
    "a year": "Fetches of known pages, for each page and year; the first fetch of a page comes beside them.",
    "schedule": f"The rule. `{ORACLE}` knows how often each page changes on the average of its life.",
    "fetches": "Fetches of known pages.",
    "fresh": "Share of the time in which copies were as the pages, of all pages.",
    "of known": f"That, as a share of what `{ORACLE}` reached.",
    "age d": "Mean days since the first change that a copy lacks; 0 while it is fresh.",
    "delay d": "Median days from when a page was linked first until it was found.",
    "wasted": "Share of the fetches that found neither a change, nor a new page, nor that a page is gone.",
}


@dataclass(frozen=True)
class Result:
    """One schedule at one number of fetches a page and year."""

    per_year: float
    schedule: str
    run: Run
    reached: Measured
    best: Measured

    def cells(self) -> list[str]:
        """Return a row of the table, in the order of `_COLUMNS`."""
        reached = self.reached
        share = reached.freshness / self.best.freshness if self.best.freshness else 1.0
        return [
            f"{self.per_year:g}",
            self.schedule,
            f"{reached.fetches:,}",
            f"{reached.freshness:.3f}",
            f"{share:.3f}",
            f"{reached.age_days:.1f}",
            f"{reached.delay_days:.2f}",
            f"{reached.wasted:.2f}",
        ]

    def figures(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        curves = {"fresh": fresh_over_time(self.run).tolist(), "found": found_over_time(self.run).tolist()}
        return {
            "per_year": self.per_year,
            "schedule": self.schedule,
            **asdict(self.reached),
            "curves": curves,
        }


def print_results(results: Sequence[Result], console: Console) -> None:
    """Print the table."""
    table = Table(*_COLUMNS)
    for result in results:
        table.add_row(*result.cells())
    console.print(table)


def write_page(path: Path, results: Sequence[Result], said: str) -> None:
    """Write one HTML file that loads nothing; `said` is what was replayed, in a sentence."""
    title = f"Schedules of revisits on {results[0].run.history.name}"
    rows = [tag("tr", *(tag("td", cell) for cell in result.cells())) for result in results]
    body = tag(
        "main",
        tag("header", tag("h1", title), tag("p", said)),
        tag("table", tag("tr", *(tag("th", name) for name in _COLUMNS)), *rows),
        *_charts(results),
        tag("dl", *(part for name, text in _COLUMNS.items() for part in (tag("dt", name), tag("dd", text)))),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    page = tag("html", head(title), tag("body", body), lang="en")
    path.write_text(f"<!doctype html>\n{page}\n", encoding="utf-8", errors="replace")


def _charts(results: Sequence[Result]) -> Iterator[Html]:
    by_budget: dict[float, dict[str, Run]] = {}
    for result in results:
        by_budget.setdefault(result.per_year, {})[result.schedule] = result.run
    for per_year, runs in by_budget.items():
        at = f"{per_year:g} fetches a page and year"
        days = next(iter(runs.values())).history.days
        fresh = {name: fresh_over_time(run) for name, run in runs.items()}
        yield _figure(chart(f"Fresh copies, {at}", "share of copies that are fresh", fresh, days))
        yield _figure(chart(f"New pages found, {at}", "pages", _found(runs), days))


def _figure(curves: CurveChart) -> Html:
    return tag("section", tag("h2", curves.title), drawn(curves))


def _found(runs: Mapping[str, Run]) -> dict[str, Curve]:
    found = {name: found_over_time(run) for name, run in runs.items()}
    return {"appeared": born_over_time(next(iter(runs.values()))), **found}
