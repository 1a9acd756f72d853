"""Is the page that answers a question found within 30 fetches? See `linkscore_research.wanted`.

``python -m linkscore_research.wanted.questions FOLDER... --half judged``.

Sixty questions over ten stored sites, six each, in `questions.tsv`. Pages were drawn blindly among the
content of a site, those nobody would ask for left out, and the questions written by a person who had seen the
title and the first lines. A hash of site and question says which half nothing may be chosen on.

The measure is that of WebWalkerQA as jevcrawl, which asks a language model, reports it: .54 on its own sites.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from statistics import fmean

import click
from rich.console import Console
from rich.table import Table

from linkscore_cli.output import figures_to, json_file_option, write_json
from linkscore_lab.replay.crawl import CrawlPlan, crawl
from linkscore_lab.replay.prepare import prepare_site
from linkscore_lab.replay.stored import StoredSite
from linkscore_research.wanted.measure import ORDERS, Bench
from linkscore_research.wanted.tasks import TagTask, source
from linkscore_scoring.features.types import Words
from linkscore_scoring.wanted import Wanted, WantedQuery

FETCHES = 30
"""Fetches within which the page must be found; as jevcrawl reports it of WebWalkerQA."""
_ORDERS = ("breadth_first", "harvest", "page_relevance", "keyword", "topic", "oracle")


@dataclass(frozen=True, slots=True)
class Answered:
    """How many fetches it took to find the page of a question; 0 if more than `FETCHES`."""

    site: str
    question: str
    order: str
    is_judged: bool
    fetches: int


def tasks_of(name: str) -> list[TagTask]:
    """Return the questions about a site as tasks with one page."""
    text = files(__package__).joinpath("questions.tsv").read_text(encoding="utf-8")
    return [
        TagTask(
            name, row["question"], frozenset({row["gold"]}), Wanted(queries=(WantedQuery(row["question"]),))
        )
        for row in csv.DictReader(text.splitlines(), delimiter="\t")
        if row["site"] == name
    ]


def site_names() -> list[str]:
    """Return the sites that questions are about."""
    text = files(__package__).joinpath("questions.tsv").read_text(encoding="utf-8")
    return list(dict.fromkeys(row["site"] for row in csv.DictReader(text.splitlines(), delimiter="\t")))


def answered(site: StoredSite, task: TagTask, order: str) -> Answered:
    """Crawl for the page of a question in one order, from the front page of the site."""
    (gold,) = task.pages
    scorer = ORDERS[order](Bench(site), task, [])
    trace = crawl(site, CrawlPlan(site.entries, FETCHES), scorer)
    scorer.close()
    fetches = trace.order.index(gold) + 1 if gold in trace.order else 0
    return Answered(task.site, task.tag, order, task.is_judged, fetches)


def all_answered(folders: Sequence[Path], orders: Sequence[str], *, judged: bool) -> Iterator[Answered]:
    """Yield what each order comes to on each question of a half, site by site."""
    for name in site_names():
        found = source(name, folders)
        if found is None:
            raise click.UsageError(f"no archive of {name} with its labels")
        with prepare_site([found], workers=1, words=Words.COUNTED) as site:
            for task in tasks_of(name):
                if task.is_judged == judged:
                    yield from (answered(site, task, order) for order in orders)


@click.command(help=__doc__)
@click.argument("folders", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--half", type=click.Choice(["dev", "judged"]), default="dev", show_default=True)
@click.option("--order", "orders", multiple=True, type=click.Choice(list(ORDERS)), default=_ORDERS)
@click.option("--each", is_flag=True, help="A line for each question.")
@json_file_option
def questions(
    folders: tuple[Path, ...], half: str, orders: tuple[str, ...], each: bool, json_file: Path | None
) -> None:
    outcomes = []
    with figures_to(json_file) as file:
        for outcome in all_answered(folders, orders, judged=half == "judged"):
            outcomes.append(outcome)
            if each:
                click.echo(f"{outcome.site:18} {outcome.order:14} {outcome.fetches:3} {outcome.question}")
        Console().print(table_of(outcomes))
        write_json(file, outcomes)


def table_of(outcomes: Sequence[Answered]) -> Table:
    """Return the share of questions answered within 10 and within 30 fetches, by order and site."""
    sites = list(dict.fromkeys(outcome.site for outcome in outcomes))
    table = Table("order", "questions", "in 10", f"in {FETCHES}", *sites)
    for order in dict.fromkeys(outcome.order for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.order == order]
        by_site = [[o.fetches > 0 for o in own if o.site == site] for site in sites]
        table.add_row(
            order,
            str(len(own)),
            f"{fmean(0 < o.fetches <= FETCHES // 3 for o in own):.2f}",
            f"{fmean(o.fetches > 0 for o in own):.2f}",
            *(f"{fmean(found):.2f}" for found in by_site),
        )
    return table


if __name__ == "__main__":
    sys.exit(questions())
