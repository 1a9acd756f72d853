"""`linkscore logs report`: what a browse log is worth, measured on its later days and on labelled pages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from linkscore_lab.experiments.browse_logs.behavior import report as behavior
from linkscore_lab.experiments.browse_logs.news import report as news
from linkscore_scoring.errors import InvalidInput


def run_logs_report(
    log: Path,
    *,
    archives: Sequence[Path] = (),
    days: int = 30,
    judged: int = 0,
    fit: Path | None = None,
    judge: Path | None = None,
    labels: Path | None = None,
    page_types: Path | None = None,
    site: str = "",
    json_file: Path | None = None,
    workers: int = 0,
    console: Console | None = None,
) -> dict[str, Any]:
    """Measure, print tables, write a file if asked for, and return the figures as plain values.

    Parameters
    ----------
    log
        Browse log of one site.
    archives
        The site as stored; with it orders by behaviour are measured.
    days, judged
        Days mined, and days judged after them; 0: to the end of the log.
    fit, judge
        Whether pages are news: those a learner may read, and those it is judged on; with both, news is
        measured.
    labels, page_types, site
        Page types of the stored site, the table of their kinds, and the site's name in it: with these, hubs
        of news are measured against the site's menu. The name is by default that of the archive.
    json_file, workers, console
        Where figures go, processes that read archives (0: one a core), and where tables go.

    Raises
    ------
    InvalidInput
        If there is nothing to measure, or a file cannot be read.
    """
    if not archives and not (fit and judge):
        raise InvalidInput("an archive of the site or labels of news to fit and to judge", field="warc")
    console, figures = console or Console(), dict[str, Any]()
    if archives:
        found = behavior.behavior_report(log, archives, days=days, judged=judged, workers=workers)
        behavior.print_behavior(console, found)
        figures["behavior"] = behavior.as_plain(found)
    if fit and judge:
        menu = _menu(archives, labels, page_types, site)
        told = news.news_report(log, fit, judge, menu=menu)
        news.print_news(console, told)
        figures["news"] = news.as_plain(told)
    if json_file is not None:
        json_file.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return figures


def _menu(
    archives: Sequence[Path], labels: Path | None, page_types: Path | None, site: str
) -> news.StoredMenu | None:
    if not archives or labels is None or page_types is None:
        return None
    name = site or archives[0].name.removesuffix(".gz").removesuffix(".warc")
    return news.StoredMenu(archives[0], labels, page_types, name)
