"""`linkscore replay --history`: schedules of revisits compared on a site kept in git, at equal fetches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from linkscore_lab.revisits.crawled import Crawled
from linkscore_lab.revisits.git_site import GitSite
from linkscore_lab.revisits.history_report import ORACLE, Result, print_results, write_page
from linkscore_lab.revisits.replay import Oracle, Schedule, follow
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.revisits.rules import rule_named
from linkscore_scoring.revisits.values import OBJECTIVES


def replay_history(
    repository: Path,
    *,
    root: str,
    base_url: str,
    start: datetime | None,
    end: datetime | None,
    branch: str,
    rules: Sequence[str],
    per_year: Sequence[float],
    objective: str,
    report: Path | None,
    console: Console | None = None,
) -> dict[str, Any]:
    """Print what each schedule reached, write the report if one is asked for, and return the figures.

    Raises
    ------
    InvalidInput
        If the repository, a date or a name cannot be used.
    """
    console = console or Console()
    if objective not in OBJECTIVES:
        raise InvalidInput(f"must be one of {', '.join(OBJECTIVES)}, got {objective!r}", field="objective")
    for rule in rules:
        rule_named(rule)
    site = GitSite(
        repository, root=root, base_url=base_url, start=_seconds(start), end=_seconds(end), branch=branch
    )
    with closing(site):
        said = _in_words(site)
        console.print(said, soft_wrap=True)
        results = [result for each in per_year for result in _results(site, rules, each, objective)]
    print_results(results, console)
    if report is not None:
        write_page(report, results, said)
        console.print(f"report: {report}", soft_wrap=True)
    history = site.history
    counts = {"pages": len(history.pages), "changes": history.changes, "days": history.days}
    return {"site": history.name, **counts, "runs": [result.figures() for result in results]}


def _results(site: GitSite, rules: Sequence[str], per_year: float, objective: str) -> list[Result]:
    schedules: dict[str, Schedule] = {rule: Crawled(site, rule, objective) for rule in rules}
    schedules[ORACLE] = Oracle(site.history, objective)
    runs = {
        name: follow(site.history, schedule, per_year, site.links) for name, schedule in schedules.items()
    }
    best = runs[ORACLE].measured()
    return [Result(per_year, name, run, run.measured(), best) for name, run in runs.items()]


def _in_words(site: GitSite) -> str:
    history = site.history
    files = sum(len(page.versions) for page in site.pages)
    missed = f" {len(site.missed):,} files are binary, too large or missing." if site.missed else ""
    return (
        f"{history.name}: {len(history.pages):,} pages in {history.days:,.0f} days. "
        f"Builds wrote {files:,} files, {history.changes:,} times a page's own text changed.{missed}"
    )


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.replace(tzinfo=UTC).timestamp()
