"""Sites with a trap in them: how much of a crawl it may take, and that nothing wanted is lost by that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.limits.budget import Decision
from support.recorded_crawls import fetched
from support.trap_sites import ROOT, CalendarSite, FacetSite, TrapSite

TRAP = 3  # SKIP_REASON_TRAP


def crawl_of(
    site: TrapSite, budget: dict[str, Any], fetches: int, policy: str = "breadth_first"
) -> tuple[CrawlModel, Sequence[str]]:
    """Crawl a site breadth-first; a link is asked about once more before it is fetched."""
    config = CrawlConfig("c", PolicyChoice(policy), limits={"budget": budget} if budget else {})
    crawl = CrawlModel(config, ticket_key=b"key")
    queries, done, queue, seen = CrawlQueries(crawl), list[str](), [(site.home, b"")], {site.home}
    while queue and len(done) < fetches:
        url, ticket = queue.pop(0)
        if queries.score_links([url], [url], [ticket], [""]).skip_reasons:
            continue
        done.append(url)
        features = site.page(url)
        outcome = crawl.apply(crawl.seq + 1, fetched(url, features, site="trap.example", ticket=ticket))
        for row, link in enumerate(features.links.urls if features else ()):
            if link not in seen:
                seen.add(link)
                queue.append((link, outcome.links.ticket_values[outcome.links.tickets[row]]))
    return crawl, done


@pytest.mark.parametrize(
    ("site", "part", "most"),
    [
        (CalendarSite, "/calendar", 16),  # twelve, and four until it is looked for
        (FacetSite, "/shop", 56),  # of 256: it names goods and new shapes of itself at first
    ],
)
def test_a_trap_is_left_once_it_brings_little_and_no_article_is_lost(
    site: type[TrapSite], part: str, most: int
) -> None:
    _, free = crawl_of(site(), {}, 400)
    _, done = crawl_of(site(), {"max_trap_share": 0.05}, 400)
    trapped = sum(part in url for url in done)
    assert sum(part in url for url in free) > 0.25 * len(free)
    assert trapped <= most
    assert sum("/article/" in url for url in done) == 60


def test_a_link_of_a_trap_says_so() -> None:
    crawl, _ = crawl_of(CalendarSite(), {"max_trap_share": 0.05}, 120)
    url = f"{ROOT}/calendar?month=7&year=2031"
    found = CrawlQueries(crawl).score_links(
        [url, f"{ROOT}/news/1"], [url, f"{ROOT}/news/1"], [b""] * 2, [""] * 2
    )
    assert (found.verdicts, found.skip_reasons) == ([2, 0], [TRAP, 0])


def test_coverage_grows_to_the_whole_and_ends_the_crawl() -> None:
    crawl, _ = crawl_of(CalendarSite(), {"enough_coverage": 0.97}, 400)
    standing = crawl.standing(crawl.shard("trap.example"))
    assert standing.coverage is not None
    assert 0.97 <= standing.coverage.share <= standing.coverage.high <= 1.0
    assert standing.coverage.low <= standing.coverage.share
    assert standing.site is not None
    assert standing.site.decision == Decision.STOP_COVERED
    assert standing.site.reason.startswith("an estimated 9")


def test_a_site_that_brings_too_little_stops() -> None:
    crawl, done = crawl_of(CalendarSite(), {"least_yield": 0.2}, 400)
    stop = crawl.standing(crawl.shard("trap.example")).site
    assert stop is not None
    assert stop.decision == Decision.STOP_YIELD
    assert len(done) < 400
    assert sum("/article/" in url for url in done) == 60


def test_before_thirty_fetches_nobody_stops_for_what_a_site_brings() -> None:
    crawl, _ = crawl_of(CalendarSite(), {"least_yield": 1.0, "enough_coverage": 0.01}, 29)
    assert crawl.standing(crawl.shard("trap.example")).site is None
