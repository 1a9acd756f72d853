"""The demonstration: one site, the same budget, breadth-first and linkscore - a table and a report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from linkscore_lab.crawls.crawl import BREADTH_FIRST, Crawl, Mode, make_mode, with_settings
from linkscore_lab.crawls.report import CrawlRow, crawl_progress, print_rows
from linkscore_lab.crawls.servers import Service, own
from linkscore_lab.crawls.spider.plan import PageFetch
from linkscore_lab.crawls.testbed import DEMO_WANTED, Testbed, demo_testbed, warc_testbed
from linkscore_lab.crawls.watching import watching
from linkscore_lab.metrics import composition, harvest_curve
from linkscore_lab.replay.results import Meta, RunResult, order_digest
from linkscore_lab.replay.task import USER_CONTENT
from linkscore_lab.report import write_report
from linkscore_scoring.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class DemoResult:
    """What a demonstration found."""

    rows: tuple[CrawlRow, ...]  # The table, one row a crawl
    report: Path  # The HTML file with the harvest curves


def run_demo(
    warc: Path | None = None,
    labels: Path | None = None,
    relevant: Sequence[str] = (),
    budget: str = "25%",
    policy: str | Sequence[str] = "harvest",
    out: Path = Path("out"),
    *,
    feedback: bool = False,
    concurrency: int = 1,
    seed: int = 1,
    service: Service | None = None,
    console: Console | None = None,
    watch: bool = False,
) -> DemoResult:
    """Crawl a site breadth-first and under each policy, print the table and the path of the report."""
    console = console or Console()
    out.mkdir(parents=True, exist_ok=True)
    policies = dict.fromkeys((BREADTH_FIRST, *([policy] if isinstance(policy, str) else policy)))
    with ExitStack() as stack:
        testbed = _open_testbed(warc, labels, seed, console, stack)
        types = tuple(relevant) if warc else tuple(relevant) or DEMO_WANTED
        wanted = testbed.wanted(types)
        for name in testbed.unreachable(types):
            console.print(f"no page of type {name} can be reached: left out", soft_wrap=True)
        show = _Demonstration(testbed, wanted, testbed.budget(budget), seed, out, console)
        address = stack.enter_context((service or own(out / "server.log"))())
        if watch:
            stack.enter_context(watching(address, console))
        name = f"demo-{int(time.time())}"
        modes = [make_mode(each, address, f"{name}-{each}", feedback=feedback) for each in policies]
        return show.run([with_settings(mode, {"CONCURRENT_REQUESTS": concurrency}) for mode in modes])


@dataclass(frozen=True, slots=True)
class _Demonstration:
    """Crawls with their progress on the console."""

    testbed: Testbed
    wanted: frozenset[str]
    budget: int
    seed: int
    out: Path
    console: Console

    def run(self, modes: Sequence[Mode]) -> DemoResult:
        """Crawl in each mode, then print the table and write the report."""
        n_pages = len(self.testbed.survey.pages)
        entry = self.testbed.target.entry
        self.console.print(f"{entry}: {n_pages:,} pages, {len(self.wanted):,} target pages", soft_wrap=True)
        crawls = [self._crawl(mode) for mode in modes]
        rows = tuple(row for _, row in crawls)
        runs = [self._result(mode, *crawled) for mode, crawled in zip(modes, crawls, strict=True)]
        report = self.out / "report.html"
        write_report(report, runs, Meta(datetime.now(UTC).isoformat(timespec="seconds")))
        print_rows(self.console, rows, f"{self.testbed.name}: {self.budget:,} of {n_pages:,} pages")
        self.console.print(f"harvest curves: {report}", soft_wrap=True)
        return DemoResult(rows, report)

    def _crawl(self, mode: Mode) -> tuple[Crawl, CrawlRow]:
        with crawl_progress() as progress:
            task = progress.add_task(mode.name, total=self.budget, found=0)
            found = 0

            def fetched(fetch: PageFetch) -> None:
                nonlocal found
                found += fetch.identity in self.wanted
                progress.update(task, advance=1, found=found)

            log = self.out / f"crawl-{mode.name}.log"
            return self.testbed.run(mode, self.budget, self.wanted, fetched=fetched, log=log)

    def _result(self, mode: Mode, crawl: Crawl, row: CrawlRow) -> RunResult:
        """Return the crawl as replays record theirs, for the report."""
        order, types = [fetch.identity for fetch in crawl.fetches], self.testbed.survey.types
        return RunResult(
            site=self.testbed.name,
            task=USER_CONTENT,
            mode="feedback" if mode.feedback else "none",
            policy=mode.name,
            seed=self.seed,
            start=self.testbed.target.entry,
            budget=self.budget,
            fetched=len(order),
            seconds=crawl.fetches[-1].elapsed_s if crawl.fetches else 0.0,
            metrics=row.metrics,
            curve=harvest_curve(order, self.wanted),
            n_reachable=len(self.testbed.survey.pages),
            n_wanted=len(self.wanted),
            order_digest=order_digest(order),
            links_out_of_archive=crawl.dropped,
            composition=composition(order, types),
            wanted_types=sorted({types[key] for key in self.wanted}),
        )


def _open_testbed(
    warc: Path | None, labels: Path | None, seed: int, console: Console, stack: ExitStack
) -> Testbed:
    """Read the site, progress on the console; `stack` ends its server."""
    if warc is not None and labels is None:
        raise InvalidInput("is needed with a stored site, to know what was found", field="labels")
    with console.status("looking at the site") as status:
        seen = 0

        def seen_page() -> None:
            nonlocal seen
            seen += 1
            if seen % 50 == 0:
                status.update(f"looking at the site: {seen:,} pages")

        opened = warc_testbed(warc, labels, seen_page) if warc and labels else demo_testbed(seed, seen_page)
        return stack.enter_context(opened)
