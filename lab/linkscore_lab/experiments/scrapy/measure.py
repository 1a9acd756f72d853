"""Measure policies in real Scrapy crawls of stored sites.

``python -m linkscore_lab.experiments.scrapy.measure --help``.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from linkscore_lab.datasets.labels import read_page_types
from linkscore_lab.datasets.warc_site import WarcSite
from linkscore_lab.experiments.scrapy.crawl import BREADTH_FIRST, make_mode
from linkscore_lab.experiments.scrapy.report import CrawlRow, print_rows
from linkscore_lab.experiments.scrapy.servers import own, running
from linkscore_lab.experiments.scrapy.testbed import Testbed, warc_testbed

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
) -> Iterator[tuple[ScrapyTask, CrawlRow]]:
    """Crawl `testbed` for each task under each policy, and yield each row as it is done."""
    for task in tasks:
        for policy in policies:
            crawl = f"{testbed.name}-{task.name}-{policy}-{time.time_ns()}"
            params = {"example_html": task.example} if policy == SOURCE_TARGET else None
            mode = make_mode(policy, address, crawl, params=params, feedback=feedback)
            log = logs / f"{testbed.name}-{task.name}-{policy}.log"
            yield task, testbed.run(mode, task.budget, task.wanted, log=log)[1]


def main(argv: Sequence[str] | None = None) -> None:
    """Crawl stored sites under several policies; print a table a task and write the figures as JSON."""
    options = _parse(argv)
    console = Console()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    results: list[dict[str, Any]] = []
    with ExitStack() as stack:
        address = stack.enter_context(_service(options)()) if set(options.policies) - {BREADTH_FIRST} else ""
        for site in options.sites:
            results.extend(_measure_named(site, address, options, console))
            options.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
    console.print(f"figures: {options.out}", soft_wrap=True)


def _measure_named(site: str, address: str, options: Any, console: Console) -> list[dict[str, Any]]:
    warc, labels = (options.corpora / f"{site}.{end}" for end in ("warc.gz", "labels.tsv.gz"))
    results = []
    with warc_testbed(warc, labels) as testbed:
        for task in _tasks(testbed, options, warc):
            rows = []
            found = measure_site(
                testbed, [task], options.policies, address, options.out.parent, feedback=options.feedback
            )
            for _, row in found:
                rows.append(row)
                results.append(_result(site, task, row, feedback=options.feedback))
            print_rows(console, rows, f"{site}: {task.name}, {task.budget:,} fetches")
    return results


def _tasks(testbed: Testbed, options: Any, warc: Path) -> list[ScrapyTask]:
    """The named targets the site has, else its user content."""
    types = read_page_types(options.corpora / "page_types.tsv").get(testbed.name, [])
    if options.target:
        targets = [
            kind.name
            for kind in types
            if kind.target and ("all" in options.target or kind.name in options.target)
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


def _service(options: Any) -> Any:
    return running(options.address) if options.address else own(options.out.parent / "server.log")


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=main.__doc__)
    parser.add_argument(
        "--corpora", type=Path, required=True, help="folder of NAME.warc.gz, NAME.labels.tsv.gz"
    )
    parser.add_argument("--sites", nargs="+", default=list(SITES))
    parser.add_argument("--policies", nargs="+", default=[BREADTH_FIRST, "harvest"])
    parser.add_argument("--budget", default="25%", help="of the user-content task")
    parser.add_argument(
        "--target", nargs="+", default=[], help="target types, or all, instead of user content"
    )
    parser.add_argument("--seed", type=int, default=1, help="of the example page of a target task")
    parser.add_argument("--feedback", action="store_true", help="wanted pages yield an item")
    parser.add_argument("--address", default="", help="a running service; default: start one")
    parser.add_argument("--out", type=Path, default=Path("out/measure.json"))
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
