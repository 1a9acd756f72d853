"""What a frontier says to linkscore, and in which order."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

from linkscore import AsyncClient, ticket_text
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore_frontier import urlfrontier_pb2 as pb
from linkscore_frontier.advice import TICKET, Advisor
from linkscore_frontier.crawls import Crawls
from linkscore_frontier.metrics import FrontierMetrics
from linkscore_frontier.records import Arrival, Place, State, Status

NOW = 1_000.0


class Heard:
    """A client whose calls are written down; it ranks buckets as they are asked for."""

    def __init__(self, reasons: dict[str, common_pb2.SkipReason] | None = None) -> None:
        self.calls: list[str] = []
        self.reasons = reasons or {}

    async def ingest_pages(self, *, crawl: str, pages: list[Any]) -> scoring_pb2.IngestPagesResponse:
        self.calls.append(f"failed {[page.url for page in pages]}")
        return scoring_pb2.IngestPagesResponse()

    async def rank_buckets(
        self, *, crawl: str, buckets: dict[str, int], in_flight: dict[str, int], **options: Any
    ) -> scoring_pb2.RankBucketsResponse:
        self.calls.append(f"rank {buckets} {in_flight}")
        n = len(buckets)
        return scoring_pb2.RankBucketsResponse(order=range(n), values=[0.5] * n, urls=[1] * n)

    async def score_links(
        self, *, crawl: str, links: list[tuple[str, bytes]]
    ) -> scoring_pb2.ScoreLinksResponse:
        n = len(links)
        scores = common_pb2.LinkScores(
            scores=[0.5] * n, buckets=[0] * n, bucket_names=["x"], bucket_values=[0.5]
        )
        if self.reasons:
            scores.skip_reasons.extend(self.reasons.get(url, 0) for url, _ in links)
        return scoring_pb2.ScoreLinksResponse(links=scores)

    async def close(self) -> None: ...


async def test_a_failure_is_told_before_the_order_is_asked_for(tmp_path: Path) -> None:
    heard, crawls = Heard(), Crawls(tmp_path)
    advisor = Advisor(cast(AsyncClient, heard), crawls, FrontierMetrics())
    store = crawls.open("c")
    links = [Arrival(f"http://a.org/{n}", "a.org", places=[Place("x", 0.5, 0.5)]) for n in range(3)]
    store.put(links, NOW)

    async def get() -> None:
        await advisor.rank("c", lambda store: store.question(queues=1, each=1, now=NOW, delay=0))
        store.take(queues=1, each=1, lease_s=60, now=NOW, delay=0)

    await get()
    links[0].is_known, links[0].failed_status = True, 404
    store.put(links[:1], NOW)
    await get()
    await advisor.close()
    crawls.close()
    assert heard.calls == ["rank {'x': 3} {}", "failed ['http://a.org/0']", "rank {'x': 2} {}"]
    assert store.failures == 0


async def test_a_url_that_came_with_a_ticket_is_given_with_it_wherever_it_is_scored(tmp_path: Path) -> None:
    heard, crawls = Heard(), Crawls(tmp_path)
    advisor = Advisor(cast(AsyncClient, heard), crawls, FrontierMetrics())
    store = crawls.open("c")
    info = pb.URLInfo(url="http://a.org/0")
    info.metadata[TICKET].values.append(ticket_text(b"of-its-page"))
    bare = pb.URLInfo(url="http://a.org/1")
    store.put([Arrival(one.url, "a.org", one.SerializeToString()) for one in (info, bare)], NOW)
    advisor.start()
    while store.new:
        await asyncio.sleep(0)
    given = await crawls.ask(
        "c", lambda store: list(store.take(queues=0, each=0, lease_s=60, now=NOW, delay=0))
    )
    await advisor.close()
    crawls.close()
    assert [one.ticket for one in given] == [ticket_text(b"of-its-page"), ""]


async def test_urls_that_a_setting_forbids_are_done_with_and_others_wait(tmp_path: Path) -> None:
    reasons = {f"http://a.org/{name}": reason for name, reason in common_pb2.SkipReason.items()}
    heard, crawls = Heard(reasons), Crawls(tmp_path)
    advisor = Advisor(cast(AsyncClient, heard), crawls, FrontierMetrics())
    store = crawls.open("c")
    store.put([Arrival(url, "a.org") for url in reasons], NOW)
    advisor.start()
    while store.new:
        await asyncio.sleep(0)
    given = await crawls.ask(
        "c", lambda store: list(store.take(queues=0, each=0, lease_s=60, now=NOW, delay=0))
    )
    states = store.summary().states
    again = store.put([Arrival(url, "a.org") for url in reasons], NOW)
    await advisor.close()
    crawls.close()
    waited = {"UNSPECIFIED", "CRAWL_BUDGET", "SITE_STOPPED"}
    assert {one.url.rpartition("SKIP_REASON_")[2] for one in given} == waited
    assert (states[State.WAITING], states[State.DONE]) == (0, 3)
    assert set(again) == {Status.SKIPPED}
