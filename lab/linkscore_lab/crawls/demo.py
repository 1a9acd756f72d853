"""The demonstration: one site, the same budget, breadth-first and linkscore - a table and a report."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from linkscore_lab.crawls.crawl import (
    BREADTH_FIRST,
    Crawl,
    Mode,
    PageFetch,
    breadth_first,
    run_crawl,
    scored,
)
from linkscore_lab.crawls.servers import SiteServer, own_server, watching
from linkscore_lab.datasets.demo_site import USER_CONTENT, DemoSite
from linkscore_lab.datasets.site import PageFacts, Site
from linkscore_lab.metrics import composition, harvest_curve, run_metrics
from linkscore_lab.replay.command import progress_on, write_files
from linkscore_lab.replay.prepare import prepare_generated
from linkscore_lab.replay.results import RunResult, order_digest, print_summary
from linkscore_lab.replay.runs import NONE, read_budget, read_policy
from linkscore_lab.replay.runs import USER_CONTENT as TASK
from linkscore_lab.replay.session import Progress
from linkscore_lab.replay.stored import StoredSite
from linkscore_scoring.errors import InvalidInput

# As `linkscore demo` shows them.
_SHOWN = ("valid_ratio", "recall", "area_5pct", "duplicates")
DEMO_WANTED: tuple[str, ...] = tuple(sorted(USER_CONTENT))


@dataclass(frozen=True, slots=True)
class Testbed:
    """A site that is served: what a crawl is given, and what a perfect crawl could find."""

    site: Site
    pages: Mapping[str, PageFacts]  # of each reachable page, by identity, breadth-first
    types: Mapping[str, str]  # of each of them that has a label
    proxy: str = ""  # where a site answers that does not at its own URLs
    __test__ = False  # or pytest takes it, by its name, for a class of tests

    @classmethod
    def of(cls, stored: StoredSite, site: Site, proxy: str = "") -> Testbed:
        """Return the testbed of a site that is served."""
        pages = {stored.records[n].key: stored.records[n].facts for n in stored.reachable()}
        return cls(site, pages, {k: stored.types[k] for k in pages if k in stored.types}, proxy)

    def wanted(self, types: Sequence[str]) -> frozenset[str]:
        """Return the reachable pages of `types`; raises `InvalidInput` if there is none of any of them."""
        have = set(self.types.values())
        if not have & set(types):
            got = ", ".join(types) or "none"
            raise InvalidInput(
                f"must be page types of {self.site.name} ({', '.join(sorted(have))}), got {got}",
                field="relevant",
            )
        return frozenset(key for key, kind in self.types.items() if kind in types)

    def budget(self, text: str) -> int:
        """Return a number of fetches from a share of the reachable pages or a number: see `read_budget`."""
        return read_budget(text, len(self.pages))

    def run(
        self,
        mode: Mode,
        budget: int,
        *,
        fetched: Callable[[PageFetch], None] = lambda fetch: None,
        log: Path | None = None,
    ) -> Crawl:
        """Crawl the site once."""
        return run_crawl(self.site.entry, mode, budget, fetched=fetched, log=log)

    def result(self, mode: Mode, crawl: Crawl, budget: int, wanted: frozenset[str]) -> RunResult:
        """Return a crawl as replays record theirs."""
        order, types = [fetch.identity for fetch in crawl.fetches], self.types
        return RunResult(
            site=self.site.name,
            task=TASK,
            mode=NONE,
            policy=mode.name,
            seed=1,
            start=self.site.entry,
            budget=budget,
            fetched=len(order),
            seconds=crawl.fetches[-1].elapsed_s if crawl.fetches else 0.0,
            metrics=run_metrics(order, self.pages, wanted, types),
            curve=harvest_curve(order, wanted),
            n_reachable=len(self.pages),
            n_wanted=len(wanted),
            order_digest=order_digest(order),
            composition=composition(order, types),
            wanted_types=sorted({types[key] for key in wanted}),
        )


@contextmanager
def demo_testbed(seed: int = 1, seen_page: Callable[[int], None] = lambda n: None) -> Iterator[Testbed]:
    """Serve the demonstration site on loopback and give its testbed."""
    server = SiteServer(DemoSite(seed))
    server.site = site = DemoSite(seed, server.address)
    with prepare_generated(site, workers=0, seen_page=seen_page) as stored, server.running():
        yield Testbed.of(stored, site)


def run_demo(
    budget: str = "25%",
    policy: Sequence[str] = ("harvest",),
    out: Path = Path("out"),
    *,
    target: str = "",
    watch: bool = False,
    console: Console | None = None,
) -> list[RunResult]:
    """Crawl the site breadth-first and under each policy, print the table, write ``report.html`` to `out`.

    Threads, their pages and profiles are wanted. Scores come from the service at `target`, else from one of
    its own; `watch` serves the web console meanwhile. One request at a time makes figures repeatable.
    Raises `InvalidInput`, and `ChildFailed` if a server or a crawl ends with an error.
    """
    console = console or Console()
    for each in () if target else policy:  # before anything is crawled
        read_policy(each)
    out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        progress = stack.enter_context(progress_on(console))
        bed = stack.enter_context(demo_testbed(1, lambda n: progress.at("looking at the site", n, None)))
        wanted, n_pages, fetches = bed.wanted(DEMO_WANTED), len(bed.pages), bed.budget(budget)
        console.print(f"{bed.site.entry}: {n_pages:,} pages, {len(wanted):,} target pages", soft_wrap=True)
        address = target or stack.enter_context(own_server(out / "server.log"))
        if watch:
            stack.enter_context(watching(address, console))
        name, runs, warnings = f"demo-{int(time.time())}", [], []
        for each in dict.fromkeys((BREADTH_FIRST, *policy)):
            mode = breadth_first() if each == BREADTH_FIRST else scored(each, address, f"{name}-{each}")
            crawl = _crawl(bed, mode, fetches, out / f"crawl-{each}.log", progress)
            runs.append(bed.result(mode, crawl, fetches, wanted))
            if crawl.unscored:
                warnings.append(f"{each}: {crawl.unscored:,} links came without a score")
        print_summary(console, runs, _SHOWN)
        for warning in warnings:
            console.print(warning, style="yellow")
        write_files(console, runs, {}, None, out / "report.html")
        return runs


def _crawl(bed: Testbed, mode: Mode, budget: int, log: Path, progress: Progress) -> Crawl:
    """Crawl with the progress on the console."""
    done = itertools.count(1)

    def fetched(fetch: PageFetch) -> None:
        progress.at(f"crawling: {mode.name}", next(done), budget)

    return bed.run(mode, budget, fetched=fetched, log=log)
