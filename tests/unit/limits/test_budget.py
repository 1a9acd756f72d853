"""A budget: what is spent by events alone, what it forbids, and that state, replay and changes keep it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.limits.budget import Decision
from support.recorded_crawls import page

CRAWL, SITE = 1, 2  # SKIP_REASON_CRAWL_BUDGET, SKIP_REASON_SITE_STOPPED
SKIP = 2


def config(budget: Mapping[str, Any], **changes: Any) -> CrawlConfig:
    return CrawlConfig("c", PolicyChoice("breadth_first"), limits={"budget": dict(budget)}, **changes)


def crawl_with(**budget: Any) -> CrawlModel:
    return CrawlModel(config(budget), ticket_key=b"key")


def page_at(site: str, n: int, *, now_s: float = 0.0, size: int = 0) -> PageFetched:
    event = page(f"http://{site}/{n}", f"http://{site}/{n + 1}", site=site)
    assert event.features is not None
    facts = {"bytes": size} if size else {}
    return replace(event, now_s=now_s, features=replace(event.features, facts=facts))


def feed(crawl: CrawlModel, *events: PageFetched) -> list[Any]:
    return [crawl.apply(crawl.seq + 1, event) for event in events]


@pytest.mark.parametrize(
    ("budget", "pages", "reason"),
    [
        ({"max_fetches": 3}, [{}, {}, {}], "max_fetches: 3 of 3 are spent"),
        ({"max_bytes": 250}, [{"size": 100}, {"size": 100}, {"size": 60}], "max_bytes: 260 of 250 are spent"),
        (
            {"max_seconds": 10},
            [{"now_s": 100.0}, {"now_s": 95.0}, {"now_s": 105.0}],
            "max_seconds: 10 of 10 are spent",
        ),
    ],
)
def test_a_crawl_stops_when_something_is_spent(
    budget: dict[str, Any], pages: list[dict[str, Any]], reason: str
) -> None:
    crawl = crawl_with(**budget)
    outcomes = feed(crawl, *(page_at("a.test", n, **more) for n, more in enumerate(pages)))
    assert [outcome.standing.crawl for outcome in outcomes[:-1]] == [None, None]
    assert outcomes[-1].standing.crawl == (Decision.STOP_BUDGET, reason)
    assert (outcomes[-1].links.verdicts, outcomes[-1].links.skip_reasons) == ([SKIP], [CRAWL])


def test_a_site_that_has_taken_its_share_stops_alone() -> None:
    crawl = crawl_with(max_site_fetches=2)
    *_, last = feed(crawl, page_at("b.test", 0), page_at("a.test", 0), page_at("a.test", 1))
    assert last.standing.site == (Decision.STOP_BUDGET, "max_site_fetches: 2 of 2 are spent")
    assert last.standing.crawl is None
    assert last.links.skip_reasons == [SITE]
    queries = CrawlQueries(crawl)
    plan = queries.plan_fetches(["a.test/d1", "b.test/d1"], 2)
    assert (plan.takes.tolist(), plan.values[0]) == ([0, 2], 0.0)
    assert queries.rank_sites(["a.test", "b.test"], [None, None], 2).takes.tolist() == [0, 2]
    (outcome,) = feed(crawl, page_at("b.test", 1))
    assert outcome.standing.crawl == (
        Decision.STOP_BUDGET,
        "all 2 sites stopped; the last: max_site_fetches: 2 of 2 are spent",
    )
