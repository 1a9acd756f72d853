"""How well news is found from a browse log: ``python -m linkscore_research news``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from linkscore_lab.replay.browse_log import read_counts
from linkscore_research.news.filters import (
    FilterFigures,
    NewsTruth,
    SignalFigures,
    half_figures,
    read_news_labels,
    signal_figures,
    time_figures,
)
from linkscore_research.news.hubs import HubFigures, hub_figures, menu_of
from linkscore_scoring.browse_logs.news.mining import mine_news
from linkscore_scoring.browse_logs.news.settings import NewsSettings

# Days mined of the 60 of the logs behind research/notebook/news-from-logs.md; the other 20 are judged.
EARLY_DAYS = 40

# A number that large is a mean of counts, and shown without decimals.
_WHOLE = 20.0
_HEADINGS = {
    "population": "over",
    "judged": "n",
    "mean_news": "news:\nmean",
    "mean_other": "other:\nmean",
    "threshold": "fitted",
    "accuracy": "acc.",
    "usual": "usual",
    "best_threshold": "with",
    "precision": "prec.",
    "precision_sd": "sd",
    "recall_sd": "sd",
    "abstained": "ab-\nstains",
    "menu_first": "menu,\nfirst",
    "menu_drawn": "menu,\ndrawn",
    "by_count": "hubs,\nby count",
    "all_news": "news\nlinked",
}


@dataclass(frozen=True, slots=True)
class StoredMenu:
    """Where the menu of a site is read from: archive, labels, table of page types, name in that table."""

    warc: Path
    labels: Path
    page_types: Path
    site: str


@dataclass(frozen=True, slots=True)
class NewsReport:
    """All figures of one log; `summary` is what the default settings say of it."""

    summary: str
    signals: list[SignalFigures]
    filters: list[FilterFigures]
    hubs: list[HubFigures]


def news_report(
    log: Path, fit: Path, judge: Path, *, menu: StoredMenu | None = None, draws: int = 20
) -> NewsReport:
    """Measure how news is found from a log.

    Parameters
    ----------
    log
        Browse log of one site, of any format that can be imported; its first 40 days and the rest are the
        split by time.
    fit, judge
        Labels a learner may read, and those it is judged on; see `read_news_labels`.
    menu
        Stored site to compare hubs with; None leaves them out.
    draws
        Random halves.
    """
    truth = NewsTruth(read_news_labels(fit), read_news_labels(judge))
    counts = read_counts(log)
    rest = counts.n_days - EARLY_DAYS
    early = read_counts(log, first_day=counts.first_day, n_days=EARLY_DAYS)
    late = read_counts(log, first_day=counts.first_day + EARLY_DAYS, n_days=rest)
    links = menu_of(menu.warc, menu.labels, menu.page_types, menu.site) if menu else []
    return NewsReport(
        summary=mine_news(counts, NewsSettings(), truth.fit).summary(),
        signals=list(signal_figures(counts, truth)),
        filters=[*half_figures(counts, truth, draws=draws), *time_figures(early, counts, truth)],
        hubs=list(hub_figures(counts, early, late, links, truth)) if links else [],
    )


def print_news(console: Console, report: NewsReport) -> None:
    """Print the figures as tables."""
    console.print(report.summary)
    for rows in (report.signals, report.filters, report.hubs):
        if rows:
            console.print(_table(rows))


def run_news(
    log: Path,
    fit: Path,
    judge: Path,
    *,
    warc: Path | None = None,
    labels: Path | None = None,
    page_types: Path | None = None,
    site: str = "",
) -> NewsReport:
    """Measure, print the tables and return the figures; hubs are measured if the stored site is told.

    Parameters
    ----------
    log, fit, judge
        As in `news_report`.
    warc, labels, page_types, site
        The stored site, its page types, the table of their kinds, and the site's name in it: by default that
        of the archive.
    """
    menu = None
    if warc and labels and page_types:
        name = site or warc.name.removesuffix(".gz").removesuffix(".warc")
        menu = StoredMenu(warc, labels, page_types, name)
    report = news_report(log, fit, judge, menu=menu)
    print_news(Console(), report)
    return report


def _table(rows: Sequence[Any]) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    for field in fields(rows[0]):
        is_text = isinstance(getattr(rows[0], field.name), str)
        heading = _HEADINGS.get(field.name, field.name)
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(_cell(value) for value in asdict(row).values()))
    return table


def _cell(value: Any) -> str:
    """Return a number in few characters: counts whole, shares with three digits."""
    if not isinstance(value, float):
        return str(value)
    if abs(value) >= _WHOLE:
        return f"{value:.0f}"
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"
