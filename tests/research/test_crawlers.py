"""Crawls by other crawlers: what they print is counted, and somebody may interfere half way."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import grpc
import pytest
from rich.console import Console

from linkscore_frontier.urlfrontier_pb2 import QueueWithinCrawlParams
from linkscore_frontier.urlfrontier_pb2_grpc import URLFrontierStub
from linkscore_research.crawlers.compare import (
    Crawler,
    CrawlFigures,
    crawl,
    equal_starts,
    frontier_of,
    table_of_outage,
)
from linkscore_research.crawlers.outages import Interrupted

BED: Any = SimpleNamespace(target=SimpleNamespace(entry="http://a/"))
FOUR = 'for n in 1 2 2 3; do printf "200\\thttp://a/$n\\n"; done; echo counters >&2'


def run(script: str, **options: Any) -> CrawlFigures:
    return crawl(Crawler(".", ("sh", "-c", script), ()), BED, "", 4, frozenset({"http://a/1"}), "", **options)


def test_a_frontier_serves_while_its_crawl_runs(tmp_path: Path) -> None:
    crawler = Crawler(".", (), (), frontier="c")
    with (
        frontier_of(crawler, "127.0.0.1:1", tmp_path / "log") as address,
        grpc.insecure_channel(address) as channel,
    ):
        stats = URLFrontierStub(channel).GetStats(QueueWithinCrawlParams(), timeout=10)
    assert stats.size == 0


def an_outage(did: list[str]) -> Interrupted:
    return Interrupted("", lambda: did.append("gone"), lambda: did.append("back"), float("inf"))


def test_an_outage_happens_once_when_half_is_fetched() -> None:
    did: list[str] = []
    event = an_outage(did)
    run(FOUR, outage=event)
    assert event.began is not None
    assert event.began >= 2
    assert event.back is None
    run("true", outage=an_outage(did))
    assert did == ["gone"]


def test_the_table_of_an_outage_has_the_same_fetches_of_each_crawl() -> None:
    event = an_outage([])
    event.began, event.back = 2, 3
    row = run('for n in 1 2 1 3; do printf "200\\thttp://a/$n\\n"; done')
    assert row.hits == (True, False, False, False)
    console = Console(width=80, file=StringIO())
    console.print(table_of_outage("colly: away:10", event, {"plain": row, "away:10": row}, {"away:10": 3}))
    lines = [line.split() for line in console.file.getvalue().splitlines()]
    assert ["order", "1-2", "3-3", "4-", "next", "1", "overall", "taken", "in"] in lines
    assert lines[-2] == ["away:10", "0.500", "0.000", "0.000", "0.000", "0.250", "3"]


def test_crawls_are_compared_from_where_they_had_found_as_many() -> None:
    """What was found sooner is not there later: raw shares after an outage compare other sites."""

    def crawled(*hits: bool) -> CrawlFigures:
        return CrawlFigures(len(hits), sum(hits), 0, 0, 0.0, 0.0, "", hits)

    undisturbed = crawled(True, False, False, True, True, False)
    ahead = crawled(True, True, False, True, False, False)
    never = crawled(False, False, False, False, False, False)
    rows = {"plain": never, "linkscore": undisturbed, "away:10": ahead}
    assert equal_starts(rows, 2) == ({"linkscore": 4, "away:10": 2}, 2)
    assert ahead.share(2) < undisturbed.share(2)  # the same fetches
    assert ahead.share(2, 4) == undisturbed.share(4, 6)


def test_a_crawler_that_fails_is_an_error_with_what_it_said() -> None:
    with pytest.raises(click.ClickException, match="out of order"):
        run("echo out of order >&2; exit 3")
