"""The table a comparison of crawls ends with, and the bar that shows one running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from linkscore_lab.metrics import DEFINITIONS, Metric


@dataclass(frozen=True, slots=True)
class CrawlRow:
    """One crawl in the table."""

    name: str  # What was crawled and in which order
    metrics: Mapping[str, Metric]  # What it achieved, see `run_metrics`
    pages_per_s: float  # Fetches per second of crawling
    dropped: int  # Links dropped before the queue because no page answers them
    # Links that came without a score where one was asked for: above 0, the row is not the policy's own
    unscored: int = 0


_COLUMNS = {
    "fetched": "fetched",
    "valid_ratio": "harvest\nrate",
    "recall": "recall",
    "area_5pct": "early\narea",
    "duplicates": "dupli-\ncates",
}
_HEADINGS = (*_COLUMNS.values(), "pages/s", "links\ndropped")


def crawl_table(rows: Sequence[CrawlRow], title: str) -> Table:
    """Return the table of `rows`; the best harvest rate is bold, drops are shown when there were any."""
    dropped = any(row.dropped for row in rows)
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("order", no_wrap=True)
    for heading in _HEADINGS if dropped else _HEADINGS[:-1]:
        table.add_column(heading, justify="right", no_wrap=True)
    best = max((row.metrics["valid_ratio"] or 0 for row in rows), default=0)
    for row in rows:
        style = "bold" if row.metrics["valid_ratio"] == best and len(rows) > 1 else None
        table.add_row(row.name, *_cells(row)[: None if dropped else -1], style=style)
    return table


def print_rows(console: Console, rows: Sequence[CrawlRow], title: str) -> None:
    """Print the table of `rows`, and a warning for each that is not what its name says."""
    console.print(crawl_table(rows, title))
    for row in rows:
        if row.unscored:
            console.print(f"{row.name}: {row.unscored:,} links came without a score", style="yellow")


def crawl_progress() -> Progress:
    """Return the progress display of a crawl: its task has a field ``found``."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("[green]{task.fields[found]} target pages"),
        TimeElapsedColumn(),
    )


def _cells(row: CrawlRow) -> list[str]:
    return [
        *(DEFINITIONS[name].show(row.metrics[name]) for name in _COLUMNS),
        f"{row.pages_per_s:.0f}",
        f"{row.dropped:,}",
    ]
