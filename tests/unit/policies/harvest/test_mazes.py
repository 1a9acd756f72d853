"""Mazes: parts of a site that never end and bring nothing. The default policy leaves them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model
from support.trap_sites import (
    ROOT,
    CalendarSite,
    FacetSite,
    GrowingSite,
    LoginSite,
    SessionSite,
    SoftNotFoundSite,
    TrapSite,
    VersionsSite,
)

COPY = 5  # SKIP_REASON_COPY
MAZES = {
    "calendar": CalendarSite,
    "calendar that says the month": partial(CalendarSite, told=90),
    "facets": FacetSite,
    "login": LoginSite,
    "session": SessionSite,
    "former versions": VersionsSite,
    "soft 404 with a request id": partial(SoftNotFoundSite, told=9),
    **{f"soft 404, {n} x address": partial(SoftNotFoundSite, echoes=n) for n in range(3)},
}


def crawled(site: TrapSite, policy: str = "harvest", fetches: int = 120) -> SimulatedCrawl:
    return SimulatedCrawl(crawl_model(PolicyChoice(policy)), site, seeds=[site.home]).fetch(fetches)


@pytest.mark.parametrize("chained", [False, True])
@pytest.mark.parametrize("kind", MAZES)
def test_in_a_maze_harvest_finds_no_less_than_breadth_first(kind: str, chained: bool) -> None:
    found, usual = (crawled(MAZES[kind](chained=chained), name) for name in ("harvest", "breadth_first"))
    assert found.wanted_share() >= max(0.3, usual.wanted_share())


@pytest.mark.parametrize("maze", [GrowingSite, LoginSite])
def test_a_maze_whose_links_stand_where_those_to_the_lists_do_is_left_too(maze: type[TrapSite]) -> None:
    site = maze(chained=True)
    site.place = "html/body/main/ul/li/a"
    assert crawled(site).wanted_share() == 0.5, "all sixty articles"


@pytest.mark.parametrize("shown", [2, 8])
@pytest.mark.parametrize(("told", "longer"), [(20, 25), (150, 100), (250, 100), (450, 100)])
def test_pages_with_text_of_their_own_that_never_end_leave_a_place_to_what_nobody_opened(
    told: int, longer: int, shown: int
) -> None:
    site = CalendarSite(chained=True, told=told, longer=longer, shown=shown)
    assert crawled(site, fetches=200).wanted_share() == 0.3, "all sixty articles"


@pytest.mark.parametrize("site", [{"echoes": 1}, {"names": ("missing", "gone", "lost")}])
def test_links_to_one_page_under_many_addresses_are_to_skip_and_say_why(site: dict[str, Any]) -> None:
    crawl = crawled(SoftNotFoundSite(**site))
    urls = [f"{ROOT}/missing/12345", f"{ROOT}/article/77"]
    found = CrawlQueries(crawl.model).score_links(urls, urls, [b""] * 2, [""] * 2)
    assert (found.verdicts, found.skip_reasons) == ([2, 0], [COPY, 0])
