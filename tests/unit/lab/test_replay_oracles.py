"""Oracles on a graph worked by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from linkscore_lab.replay.crawl import CrawlPlan, crawl
from linkscore_lab.replay.in_process import GreedyOracle
from linkscore_lab.replay.prepare import SiteSource, StoredSite, prepare_site
from support.replay_sites import page, write_site


def url(path: str) -> str:
    return f"http://o.test/{path}"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[StoredSite]:
    """`poor` leads to one wanted page, `rich` to two, `far` to one over `between`; `dull` to none."""
    pages = {
        "/": page(["/dull", "/poor", "/rich", "/far", "/w0"]),
        "/dull": page(),
        "/poor": page(["/w1"]),
        "/rich": page(["/w2", "/w3"]),
        "/far": page(["/between"]),
        "/between": page(["/w4"]),
        **{f"/w{i}": page() for i in range(5)},
    }
    with prepare_site([SiteSource([write_site(tmp_path / "o.warc.gz", "o.test", pages)])], workers=1) as site:
        yield site


WANTED = frozenset(url(f"w{i}") for i in range(5))


def order(site: StoredSite, oracle: GreedyOracle) -> list[str]:
    trace = crawl(site, CrawlPlan([url("")], 20), oracle)
    return [key.removeprefix(url("")) for key in trace.order]


def test_greedy_takes_the_wanted_then_what_shows_most_of_them(site: StoredSite) -> None:
    found = order(site, GreedyOracle(site, WANTED))
    assert found == ["", "w0", "rich", "w2", "w3", "poor", "w1", "far", "between", "w4", "dull"]


def test_with_many_in_flight_the_oracle_counts_what_is_on_its_way_as_found(tmp_path: Path) -> None:
    """`copy` shows what `hub`, which is on its way, will show already: `poor` is the better second choice."""
    pages = {
        "/": page(["/hub", "/copy", "/poor"]),
        "/hub": page(["/w0", "/w1"]),
        "/copy": page(["/w0", "/w1"]),
        "/poor": page(["/w2"]),
        **{f"/w{i}": page() for i in range(3)},
    }
    with prepare_site([SiteSource([write_site(tmp_path / "o.warc.gz", "o.test", pages)])], workers=1) as site:
        trace = crawl(site, CrawlPlan([url("")], 5, in_flight=2), GreedyOracle(site, WANTED))
    assert [key.removeprefix(url("")) for key in trace.order] == ["", "hub", "poor", "w0", "w1"]
