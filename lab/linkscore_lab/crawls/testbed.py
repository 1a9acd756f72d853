"""A site made ready for crawls: served, surveyed, and what is wanted of it decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from linkscore_lab.crawls.crawl import Crawl, Mode, Target, run_crawl
from linkscore_lab.crawls.report import CrawlRow
from linkscore_lab.crawls.servers import demo_server, warc_server
from linkscore_lab.crawls.spider.plan import PageFetch
from linkscore_lab.datasets.demo_site import USER_CONTENT, DemoSite
from linkscore_lab.datasets.survey import Survey, survey_site
from linkscore_lab.datasets.warc_site import WarcSite
from linkscore_lab.metrics import run_metrics
from linkscore_lab.replay.task import read_budget
from linkscore_scoring.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Testbed:
    """Where crawls of one site play."""

    name: str  # What to call the site
    target: Target  # What a crawl is given
    survey: Survey  # What a perfect crawl could find
    __test__ = False  # or pytest takes it, by its name, for a class of tests

    def wanted(self, types: Sequence[str]) -> frozenset[str]:
        """Return the reachable pages of `types`; types without one are fine, see `unreachable`."""
        have = set(self.survey.types.values())
        if not have & set(types):
            got = ", ".join(types) or "none"
            raise InvalidInput(
                f"must be page types of {self.name} ({', '.join(sorted(have))}), got {got}", field="relevant"
            )
        return self.survey.of_types(types)

    def unreachable(self, types: Sequence[str]) -> list[str]:
        """Return those of `types` of which no page can be reached."""
        have = set(self.survey.types.values())
        return [name for name in types if name not in have]

    def budget(self, text: str) -> int:
        """Return a number of fetches from a share of the reachable pages or a number: see `read_budget`."""
        return read_budget(text, len(self.survey.pages))

    def run(
        self,
        mode: Mode,
        budget: int,
        wanted: frozenset[str],
        *,
        fetched: Callable[[PageFetch], None] = lambda fetch: None,
        log: Path | None = None,
    ) -> tuple[Crawl, CrawlRow]:
        """Crawl the site once; return what came and its row of the table."""
        crawl = run_crawl(self.target, mode, budget, wanted=wanted, fetched=fetched, log=log)
        order = [fetch.identity for fetch in crawl.fetches]
        found = run_metrics(order, self.survey.pages, wanted, self.survey.types)
        return crawl, CrawlRow(mode.name, found, crawl.pages_per_s, crawl.dropped, crawl.unscored)


@contextmanager
def demo_testbed(seed: int = 1, seen_page: Callable[[], None] = lambda: None) -> Iterator[Testbed]:
    """Serve the demonstration site on loopback and give its testbed; what is wanted is `USER_CONTENT`."""
    with demo_server(seed) as server:
        site = DemoSite(seed, server.greeting)
        yield Testbed("demonstration site", Target(site.entry), survey_site(site, seen_page))


@contextmanager
def warc_testbed(
    warc: Path, labels: Path, seen_page: Callable[[], None] = lambda: None, *, latency_s: float = 0.0
) -> Iterator[Testbed]:
    """Serve a stored site on loopback and give its testbed; links without a record never reach a queue."""
    site = WarcSite(warc, labels)
    try:
        survey, known = survey_site(site, seen_page), site.known()
    finally:
        site.close()
    with warc_server(warc, latency_s=latency_s) as server:
        yield Testbed(warc.name.split(".")[0], Target(site.entry, server.greeting, known), survey)


DEMO_WANTED: tuple[str, ...] = tuple(sorted(USER_CONTENT))
