"""The loop of a replay: what is charged, what is reported when, what leads out of the archive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from linkscore_lab.replay.crawl import CrawlPlan, FeedbackPlan, crawl
from linkscore_lab.replay.in_process import CrawlScorer, InProcessScorer, PageScores, ReplayVisit, best_first
from linkscore_lab.replay.prepare import SiteSource, StoredSite, prepare_site
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from support.replay_sites import page, write_site

HOME, A, B, C = (f"http://s.test/{path}" for path in ("", "a", "b", "c"))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[StoredSite]:
    pages = {
        "/": page(["/a", "/r", "/gone", "mailto:x@y.z"]),
        "/a": page(["/c"]),
        "/b": page(["/"]),
        "/c": page(),
    }
    warc = write_site(tmp_path / "s.warc.gz", "s.test", pages, {"/r": "/b", "/out": "http://else.test/"})
    with prepare_site([SiteSource([warc])], workers=1) as site:
        yield site


class Scribe(CrawlScorer):
    """Scores everything alike and writes down what it is told."""

    per_url = False

    def __init__(self, *, skip: Sequence[str] = (), until: int = 100) -> None:
        self.log: list[str] = []
        self.begun: list[str] = []
        self._skip, self._until = skip, until

    def begins(self, site: StoredSite, number: int) -> Sequence[tuple[int, float]]:
        self.begun.append(site.records[number].key)
        return ()

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        self.log.append(f"visit {site.records[visit.number].key} for {visit.key}")
        event = site.event(visit.number)
        keys = event.features.links.keys if event and event.features else []
        n = len(keys)
        skip = [key in self._skip and len(self.begun) < self._until for key in keys]
        return PageScores(keys, [0.5] * n, ["all"], [0] * n, [b"t"], [0] * n, skip)

    def feedback(self, key: str, url: str, reward: float) -> None:
        self.log.append(f"feedback {key} {reward:g}")

    def plan(
        self, buckets: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]:
        return best_first([0.5] * len(buckets), waiting, n)


def test_redirects_are_followed_and_links_out_of_the_archive_counted_once(site: StoredSite) -> None:
    trace = crawl(site, CrawlPlan([HOME], 10), Scribe())
    assert trace.order == [HOME, A, B, C]
    assert trace.outside == 1


def test_a_link_to_skip_when_it_is_found_is_dropped_for_good(site: StoredSite) -> None:
    assert crawl(site, CrawlPlan([HOME], 10), Scribe(skip=[A], until=2)).order == [HOME, B]


def test_free_pages_are_fetched_but_neither_charged_nor_counted(site: StoredSite) -> None:
    scribe = Scribe()
    trace = crawl(site, CrawlPlan([HOME], 3, free=frozenset([A])), scribe)
    assert trace.order == [HOME, B, C]
    assert f"visit {A} for {A}" in scribe.log


def test_feedback_comes_after_its_delay_and_only_of_what_is_known(site: StoredSite) -> None:
    rewards = {HOME: 0.0, A: 1.0, C: 1.0}
    scribe = Scribe()
    crawl(site, CrawlPlan([HOME], 10, feedback=FeedbackPlan(rewards.get, delay=1)), scribe)
    assert scribe.log == [
        f"visit {HOME} for {HOME}",
        f"visit {A} for {A}",
        f"feedback {HOME} 0",
        f"visit {B} for http://s.test/r",
        f"feedback {A} 1",
        f"visit {C} for {C}",
    ]


def test_a_crawl_whose_own_budget_is_spent_ends_and_says_why(site: StoredSite) -> None:
    config = CrawlConfig("c", PolicyChoice("breadth_first"), limits={"budget": {"max_fetches": 2}})
    trace = crawl(site, CrawlPlan([HOME], 10), InProcessScorer(config))
    assert (trace.order, trace.stopped) == ([HOME, A], "max_fetches: 2 of 2 are spent")


@pytest.fixture
def star(tmp_path: Path) -> Iterator[StoredSite]:
    """A front page that links to nine others."""
    pages = {"/": page([f"/{n}" for n in range(1, 10)]), **{f"/{n}": page() for n in range(1, 10)}}
    with prepare_site([SiteSource([write_site(tmp_path / "o.warc.gz", "s.test", pages)])], workers=1) as site:
        yield site


class Watcher(Scribe):
    """Writes down how many fetches had begun when each answer came."""

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        self.log.append(str(len(self.begun)))
        return super().visit(site, visit)


@pytest.mark.parametrize(
    ("in_flight", "begun"),
    [(1, "1 2 3 4 5 6 7 8"), (3, "1 4 5 6 7 8 8 8"), (64, "1 8 8 8 8 8 8 8")],
)
def test_answers_come_as_many_fetches_late_as_are_under_way(
    star: StoredSite, in_flight: int, begun: str
) -> None:
    """Nothing but the front page is known at first; at the end nothing more begins, and all are answered."""
    watcher = Watcher()
    trace = crawl(star, CrawlPlan([HOME], 8, in_flight=in_flight), watcher)
    assert " ".join(line for line in watcher.log if line.isdigit()) == begun
    assert trace.order == [HOME, *(f"{HOME}{n}" for n in range(1, 8))]


def test_the_clock_of_a_replay_counts_latencies(star: StoredSite) -> None:
    """One at a time: ten. Three: the front page, then nine pages in three rounds."""
    assert crawl(star, CrawlPlan([HOME], 10), Scribe()).took == 10.0
    assert crawl(star, CrawlPlan([HOME], 10, in_flight=3), Scribe()).took == 4.0
