"""A crawler that obeys: what is to skip waits aside, what is asked for comes first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from linkscore_lab.replay.crawl import CrawlPlan, crawl
from linkscore_lab.replay.prepare import SiteSource, prepare_site
from linkscore_lab.replay.results import ScoreExplanation
from linkscore_lab.replay.scorer import CrawlScorer, PageScores, ReplayVisit, best_first
from linkscore_lab.replay.stored import StoredSite
from support.replay_sites import page, write_site

HOME, A, B, C = (f"http://s.test/{path}" for path in ("", "a", "b", "c"))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[StoredSite]:
    pages = {"/": page(["/a", "/b", "/c"]), "/a": page(), "/b": page(), "/c": page(["/a"])}
    warc = write_site(tmp_path / "s.warc.gz", "s.test", pages)
    with prepare_site([SiteSource([warc])], workers=1) as site:
        yield site


class Moody(CrawlScorer):
    """Says to skip some URLs until so many pages came, and asks for others after the first page."""

    per_url = False

    def __init__(self, skip: Sequence[str] = (), *, until: int = 100, wanted: Sequence[str] = ()) -> None:
        self.skip, self.until, self.wanted, self.visits = skip, until, wanted, 0

    def begins(self, site: StoredSite, number: int) -> Sequence[tuple[int, float]]:
        return ()

    def visit(self, site: StoredSite, visit: ReplayVisit) -> PageScores:
        self.visits += 1
        event = site.event(visit.number)
        keys = event.features.links.keys if event and event.features else []
        n = len(keys)
        skip = self.skips([(key, b"t") for key in keys])
        return PageScores(keys, [0.5] * n, ["all"], [0] * n, [b"t"], [0] * n, skip, wanted=self.wanted)

    def feedback(self, key: str, url: str, reward: float) -> None:
        raise AssertionError

    def plan(
        self, buckets: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]:
        return best_first([0.5] * len(buckets), waiting, n)

    def skips(self, links: Sequence[tuple[str, bytes]]) -> Sequence[bool]:
        return [key in self.skip and self.visits < self.until for key, _ in links]

    def explain(self, url: str, key: str, ticket: bytes) -> ScoreExplanation | None:
        return None

    def close(self) -> None:
        """See `Scorer.close`."""


def test_what_is_to_skip_is_left_when_nothing_else_waits(site: StoredSite) -> None:
    assert crawl(site, CrawlPlan([HOME], 10, obey_verdicts=True), Moody([A])).order == [HOME, B, C]


def test_what_is_no_longer_to_skip_comes_back(site: StoredSite) -> None:
    trace = crawl(site, CrawlPlan([HOME], 10, obey_verdicts=True), Moody([A], until=3))
    assert trace.order == [HOME, B, C, A]


def test_without_obedience_a_link_to_skip_is_dropped_for_good(site: StoredSite) -> None:
    assert crawl(site, CrawlPlan([HOME], 10), Moody([A], until=2)).order == [HOME, B, C, A]
    assert crawl(site, CrawlPlan([HOME], 10), Moody([B], until=2)).order == [HOME, A, C]


def test_what_is_asked_for_comes_first_even_if_it_is_to_skip(site: StoredSite) -> None:
    plan = CrawlPlan([HOME], 10, obey_verdicts=True, obey_requests=True)
    assert crawl(site, plan, Moody([C], wanted=[C, "http://s.test/nowhere"])).order == [HOME, C, A, B]
