"""Schedules of revisits compared on a site kept in git, at equal fetches.

The command ``history GITDIR --base-url URL``: the repository holds built HTML, as the branch of a pages site
does. At any time a page is the file of the last commit up to it, along first parents. Schedules see what a
site would answer: the file, 304 if it is the same, 404. They are judged by a separate reading: a page changed
if a text outside links did, numbers aside, that few pages share.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import click
from rich.console import Console
from rich.table import Table

from linkscore_cli.output import write_json
from linkscore_lab.commands import lab_errors
from linkscore_research.revisits.git_site import GitSite
from linkscore_research.revisits.replay import (
    SCHEDULES,
    START_S,
    Measured,
    Oracle,
    Schedule,
    follow,
    schedule_named,
)
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.features.html import extract
from linkscore_scoring.revisits.pages import DAY_S, OBJECTIVES, read_facts
from linkscore_scoring.revisits.site import SiteRevisits
from linkscore_scoring.types import SentPage
from linkscore_scoring.urls.identity import host_of, identity

ORACLE = "rates known"
"""Name of the schedule that knows how often each page changes on the average of its life."""
_COLUMNS = ("a year", "schedule", "fetches", "fresh", "of known", "age d", "delay d", "wasted")
_DAY = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"])


_LONGEST_S = 1e11
"""Some 3,000 years, more than any history: no page is fetched only because it waited long."""


class Crawled(Schedule):
    """Ranks the pages of a site by what a crawl learned of them.

    Requests are conditional: a file that is as it was fetched last is answered by 304.
    """

    def __init__(self, site: GitSite, objective: str = "both") -> None:
        revisit = {"objective": objective, "least_s": 1.0, "longest_s": _LONGEST_S}
        self._model = CrawlModel(CrawlConfig("history", revisit=revisit), ticket_key=bytes(32))
        self._site, self._copies, self._seq = site, dict[int, str](), 0
        self._host = host_of(site.pages[0].url)

    def first(self, row: int, group: int, day: float) -> None:
        self._fetch(row, day)

    def again(self, row: int, day: float, *, changed: bool, links: int, gone: bool) -> None:
        """See `Schedule`; what is so is found out by the fetch."""
        self._fetch(row, day)

    def best(self, day: float, n: int) -> list[int]:
        revisits = cast("SiteRevisits", self._model.shard(self._host).revisitor)
        rows = (self._site.row_of(due.url) for due in revisits.rank(START_S + day * DAY_S, n))
        return [row for row in rows if row >= 0]

    def _fetch(self, row: int, day: float) -> None:
        url, name = self._site.pages[row].url, self._site.pages[row].version(day)
        status, features = 404, None
        if name and name == self._copies.get(row):
            status = 304
        elif name:
            body = self._site.body(name)
            status, features = 200, extract(body, url=url)
            features.facts |= read_facts(SentPage(len(body), url, body=body))
        self._copies[row] = name
        self._seq += 1
        now_s, event_id = START_S + day * DAY_S, str(self._seq)
        self._model.apply(
            self._seq,
            PageFetched(event_id, self._host, url, identity(url), status, "", b"", now_s, features),
        )


@click.command(help=__doc__)
@click.argument("repository", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--base-url", required=True, help="URL of the folder of the site; links are followed by URL.")
@click.option("--root", default="", help="Folder of the site in it.  [default: all]")
@click.option("--branch", default="HEAD", show_default=True, help="Branch of it.")
@click.option("--from", "start", type=_DAY, help="Begin there, UTC.  [default: first commit]")
@click.option("--to", "end", type=_DAY, help="End there, UTC.  [default: last commit]")
@click.option(
    "--fetches",
    "per_year",
    type=click.FloatRange(0.0, 10_000.0, min_open=True),
    multiple=True,
    default=(4.0,),
    help="Fetches again, a page and year; repeatable.  [default: 4]",
)
@click.option(
    "--rule",
    "rules",
    multiple=True,
    default=SCHEDULES,
    help="Schedule; repeatable.  [default: greedy, adaptive, fixed]",
)
@click.option("--objective", default="both", show_default=True, help="both, freshness or discovery.")
@click.option("--json", "json_out", type=click.Path(dir_okay=False, path_type=Path))
def history(repository: Path, json_out: Path | None, **options: Any) -> None:
    with lab_errors():
        write_json(json_out, replay_history(repository, **options))


def replay_history(
    repository: Path,
    *,
    base_url: str,
    root: str = "",
    start: datetime | None = None,
    end: datetime | None = None,
    branch: str = "HEAD",
    rules: Sequence[str] = SCHEDULES,
    per_year: Sequence[float] = (4.0,),
    objective: str = "both",
    console: Console | None = None,
) -> dict[str, Any]:
    """Print what each schedule reached, and return the figures."""
    console = console or Console()
    if objective not in OBJECTIVES:
        raise InvalidInput(f"must be one of {', '.join(OBJECTIVES)}, got {objective!r}", field="objective")
    if not set(rules) <= set(SCHEDULES):
        raise InvalidInput(f"must be among {', '.join(SCHEDULES)}, got {', '.join(rules)}", field="rules")
    table, figures = Table(*_COLUMNS), []
    site = GitSite(
        repository, root=root, base_url=base_url, start=_seconds(start), end=_seconds(end), branch=branch
    )
    with closing(site):
        console.print(_in_words(site), soft_wrap=True)
        for each in per_year:
            reached = _reached(site, rules, each, objective)
            for name, found in reached.items():
                table.add_row(f"{each:g}", name, *_cells(found, reached[ORACLE]))
                figures.append({"per_year": each, "schedule": name, **asdict(found)})
    console.print(table)
    pages = site.history
    counts = {"pages": len(pages.pages), "changes": pages.changes, "days": pages.days}
    return {"site": pages.name, **counts, "runs": figures}


def _reached(site: GitSite, rules: Sequence[str], per_year: float, objective: str) -> dict[str, Measured]:
    schedules: dict[str, Schedule] = {
        rule: Crawled(site, objective) if rule == SCHEDULES[0] else schedule_named(rule) for rule in rules
    }
    schedules[ORACLE] = Oracle(site.history, objective)
    return {
        name: follow(site.history, schedule, per_year, site.links).measured()
        for name, schedule in schedules.items()
    }


def _cells(found: Measured, best: Measured) -> list[str]:
    share = found.freshness / best.freshness if best.freshness else 1.0
    return [
        f"{found.fetches:,}",
        f"{found.freshness:.3f}",
        f"{share:.3f}",
        f"{found.age_days:.1f}",
        f"{found.delay_days:.2f}",
        f"{found.wasted:.2f}",
    ]


def _in_words(site: GitSite) -> str:
    pages = site.history
    files = sum(len(page.versions) for page in site.pages)
    missed = f" {len(site.missed):,} files are binary, too large or missing." if site.missed else ""
    return (
        f"{pages.name}: {len(pages.pages):,} pages in {pages.days:,.0f} days. "
        f"Builds wrote {files:,} files, {pages.changes:,} times a page's own text changed.{missed}"
    )


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.replace(tzinfo=UTC).timestamp()
