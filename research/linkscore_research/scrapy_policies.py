"""Measure policies in real Scrapy crawls of stored sites.

``python -m linkscore_research.scrapy_policies --help``.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from linkscore_lab.crawls.crawl import BREADTH_FIRST, make_mode, with_settings
from linkscore_lab.crawls.report import CrawlRow, print_rows
from linkscore_lab.crawls.servers import Service, own, running
from linkscore_lab.crawls.testbed import Testbed, warc_testbed
from linkscore_lab.datasets.labels import read_page_types
from linkscore_lab.datasets.warc_site import WarcSite

SOURCE_TARGET = "source_target"
SITES = ("forum_phpbb", "qa_q2a", "wiki_x3", "blog_wordpress")


@dataclass(frozen=True, slots=True)
class ScrapyTask:
    """What a site is crawled for, and how long.

    Attributes
    ----------
    name
        ``user_content``, or the target type.
    wanted
        The reachable pages looked for.
    budget
        Fetches of each crawl.
    example
        HTML of a page of the target type, given to policies that take one; empty for other tasks.
    """

    name: str
    wanted: frozenset[str]
    budget: int
    example: str = ""


def user_content_task(testbed: Testbed, types: Sequence[str], budget: str) -> ScrapyTask:
    """Return the task to find pages of the user-content `types` within a budget such as ``"25%"``."""
    return ScrapyTask("user_content", testbed.wanted(types), testbed.budget(budget))


def target_task(testbed: Testbed, target: str, read_html: Callable[[str], str], seed: int) -> ScrapyTask:
    """Return the task to find pages of one type with as many fetches as there are such pages.

    The example is drawn by `seed` from the pages of the type; it is free and does not count when fetched.
    `read_html` gives the HTML of a page by its identity.
    """
    wanted = testbed.wanted([target])
    example = random.Random(seed).choice(sorted(wanted))
    return ScrapyTask(target, wanted - {example}, len(wanted), read_html(example))


def stored_html(warc: Path) -> Callable[[str], str]:
    """Return a reader of the pages of a stored site."""

    def read(url: str) -> str:
        site = WarcSite(warc)
        try:
            return site.respond(url).body.decode(errors="replace")
        finally:
            site.close()

    return read


def measure_site(
    testbed: Testbed,
    tasks: Sequence[ScrapyTask],
    policies: Sequence[str],
    address: str,
    logs: Path,
    *,
    feedback: bool,
    concurrency: int = 1,
) -> Iterator[tuple[ScrapyTask, CrawlRow]]:
    """Crawl `testbed` for each task under each policy, and yield each row as it is done."""
    for task in tasks:
        for policy in policies:
            crawl = f"{testbed.name}-{task.name}-{policy}-{time.time_ns()}"
            params = {"example_html": task.example} if policy == SOURCE_TARGET else None
            mode = make_mode(policy, address, crawl, params=params, feedback=feedback)
            mode = with_settings(mode, {"CONCURRENT_REQUESTS": concurrency})
            log = logs / f"{testbed.name}-{task.name}-{policy}.log"
            yield task, testbed.run(mode, task.budget, task.wanted, log=log)[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureOptions:
    """What is measured; see the options of the command."""

    corpora: Path
    sites: tuple[str, ...]
    policies: tuple[str, ...]
    budget: str
    targets: tuple[str, ...]
    seed: int
    feedback: bool
    address: str
    concurrency: int
    latency: float
    out: Path


@click.command()
@click.option(
    "--corpora",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    required=True,
    help="Folder of NAME.warc.gz, NAME.labels.tsv.gz and page_types.tsv.",
)
@click.option("--site", "sites", multiple=True, default=SITES, show_default=True, help="Repeatable.")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    default=(BREADTH_FIRST, "harvest"),
    show_default=True,
    help="Repeatable.",
)
@click.option("--budget", default="25%", show_default=True, help="Of the user-content task.")
@click.option(
    "--target-type",
    "targets",
    multiple=True,
    help="Page type to crawl for instead of user content, or `all`; repeatable.",
)
@click.option("--seed", default=1, show_default=True, help="Of the example page of a target task.")
@click.option("--feedback", is_flag=True, help="Wanted pages yield an item.")
@click.option(
    "--concurrency", type=click.IntRange(1, 64), default=1, show_default=True, help="Fetches at once."
)
@click.option(
    "--latency", type=click.FloatRange(0), default=0.0, help="Seconds the site waits before each answer."
)
@click.option("--target", "address", default="", help="A running server at host:port; default: start one.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("out/measure.json"),
    show_default=True,
)
def main(**given: Any) -> None:
    """Crawl stored sites under several policies; print a table a task and write the figures as JSON."""
    options = MeasureOptions(**given)
    console = Console()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results: list[dict[str, Any]] = []
    with ExitStack() as stack:
        address = stack.enter_context(_service(options)()) if set(options.policies) - {BREADTH_FIRST} else ""
        for site in options.sites:
            results.extend(_measure_named(site, address, options, console))
            options.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
    console.print(f"figures: {options.out}", soft_wrap=True)


def _measure_named(
    site: str, address: str, options: MeasureOptions, console: Console
) -> list[dict[str, Any]]:
    warc, labels = (options.corpora / f"{site}.{end}" for end in ("warc.gz", "labels.tsv.gz"))
    results = []
    with warc_testbed(warc, labels, latency_s=options.latency) as testbed:
        for task in _tasks(testbed, options, warc):
            rows = []
            found = measure_site(
                testbed,
                [task],
                options.policies,
                address,
                options.out.parent,
                feedback=options.feedback,
                concurrency=options.concurrency,
            )
            for _, row in found:
                rows.append(row)
                results.append(_result(site, task, row, feedback=options.feedback))
            print_rows(console, rows, f"{site}: {task.name}, {task.budget:,} fetches")
    return results


def _tasks(testbed: Testbed, options: MeasureOptions, warc: Path) -> list[ScrapyTask]:
    """The named targets the site has, else its user content."""
    types = read_page_types(options.corpora / "page_types.tsv").get(testbed.name, [])
    if options.targets:
        targets = [
            kind.name
            for kind in types
            if kind.target and ("all" in options.targets or kind.name in options.targets)
        ]
        return [target_task(testbed, name, stored_html(warc), options.seed) for name in targets]
    present = set(testbed.survey.types.values())
    user_content = [kind.name for kind in types if kind.user_content and kind.name in present]
    return [user_content_task(testbed, user_content, options.budget)]


def _result(site: str, task: ScrapyTask, row: CrawlRow, *, feedback: bool) -> dict[str, Any]:
    return {
        "site": site,
        "task": task.name,
        "policy": row.name,
        "feedback": feedback,
        "budget": task.budget,
        "n_wanted": len(task.wanted),
        **row.metrics,
        "pages_per_s": round(row.pages_per_s, 1),
        "dropped": row.dropped,
        "unscored": row.unscored,
    }


def _service(options: MeasureOptions) -> Service:
    return running(options.address) if options.address else own(options.out.parent / "server.log")


if __name__ == "__main__":
    main()
