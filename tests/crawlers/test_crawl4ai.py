"""Crawl4AI, as it is installed, in the order of a server; skipped where it is not."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from support.crawlee.crawl_checks import NOWHERE, check_whole_crawl, kinds
from support.fake_linkscore import FakeLinkscore

pytest.importorskip("crawl4ai", reason="crawl4ai is not installed: make test-clients has it")
pytestmark = pytest.mark.filterwarnings("default")  # what other packages warn of is theirs

from crawl4ai import AsyncWebCrawler, CacheMode, CrawlerRunConfig, HTTPCrawlerConfig  # noqa: E402
from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy  # noqa: E402

from linkscore.crawl4ai import LinkscoreCrawlStrategy  # noqa: E402


async def crawl(start: str, strategy: Any) -> list[Any]:
    config = CrawlerRunConfig(
        deep_crawl_strategy=strategy, cache_mode=CacheMode.BYPASS, stream=True, verbose=False
    )
    http = AsyncHTTPCrawlerStrategy(browser_config=HTTPCrawlerConfig())
    async with AsyncWebCrawler(crawler_strategy=http, verbose=False) as crawler:
        return [result async for result in await crawler.arun(start, config=config)]


async def test_the_best_bucket_is_crawled_first(fake: FakeLinkscore, site: tuple[str, list[str]]) -> None:
    start, asked = site
    strategy = LinkscoreCrawlStrategy(f"127.0.0.1:{fake.port}", crawl="c")
    results = await crawl(start, strategy)
    check_whole_crawl(fake, asked, strategy.session.counts)
    assert results[0].metadata["depth"] == 0
    assert {result.metadata["depth"] for result in results if "/thread/" in result.url} == {1, 2, 3}
    assert results[1].metadata["parent_url"] == start
    assert results[1].metadata["score"] == pytest.approx(0.9)
    await strategy.reward(results[1], items=2)
    assert [(event.reward, bool(event.ticket)) for event in fake.feedback] == [(1.0, True)]
    await strategy.shutdown()


async def test_pages_depth_and_filters_bound_a_crawl(
    fake: FakeLinkscore, site: tuple[str, list[str]]
) -> None:
    start, asked = site
    strategy = LinkscoreCrawlStrategy(
        f"127.0.0.1:{fake.port}", crawl="c", max_pages=6, max_depth=1, batch_size=4
    )
    results = await crawl(start, strategy)
    assert sum(result.status_code == 200 for result in results) == 6
    assert all(len(path.rpartition("/")[2]) <= 1 for path in asked)
    await strategy.shutdown()


async def test_a_link_that_waits_is_as_near_as_its_shortest_way_and_filters_are_asked_once(
    fake: FakeLinkscore,
) -> None:
    async def follows(url: str) -> bool:
        asked.append(url)
        return True

    asked: list[str] = []
    chain = SimpleNamespace(apply=follows)
    strategy = LinkscoreCrawlStrategy(f"127.0.0.1:{fake.port}", crawl="c", max_depth=3, filter_chain=chain)
    links = {"internal": [{"href": "http://a.org/thread/1"}]}
    page = SimpleNamespace(links=links, html="<p>", redirected_url="", status_code=200, metadata={})
    for depth in (2, 0, 1):
        await strategy.link_discovery(page, f"http://a.org/{depth}", depth, set(), [], {})
    item = await strategy.session.take()
    assert item is not None
    assert item.value == (1, "http://a.org/0")
    await strategy.link_discovery(page, "http://a.org/0", 0, set(), [], {})
    assert asked == ["http://a.org/thread/1"]
    await strategy.shutdown()


async def test_a_crawl_goes_on_without_the_server(site: tuple[str, list[str]]) -> None:
    start, asked = site
    strategy = LinkscoreCrawlStrategy(NOWHERE, crawl="c", timeout_s=1.0)
    await crawl(start, strategy)
    assert len(set(asked)) == 22
    assert kinds(asked)[:3] == ["tag", "gone", "thread"]
    assert strategy.session.counts["fallback"] == 9 + 12
    await strategy.shutdown()


@pytest.mark.parametrize("name", ["max_pages", "max_depth", "batch_size", "timeout_s"])
@pytest.mark.parametrize("given", [-3, math.nan, "many"])
def test_a_number_out_of_bounds_is_refused_by_name(name: str, given: Any) -> None:
    options = {name: given}
    with pytest.raises(ValueError, match=f"{name}: must be a number from .*, got"):
        LinkscoreCrawlStrategy("127.0.0.1:1", crawl="c", **options)
