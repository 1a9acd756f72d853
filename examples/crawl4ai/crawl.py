"""A Crawl4AI crawl in linkscore's order: ``python crawl.py http://127.0.0.1:8800/``."""

from __future__ import annotations

import argparse
import asyncio

from crawl4ai import AsyncWebCrawler, CrawlerRunConfig
from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy

from linkscore.crawl4ai import LinkscoreCrawlStrategy


async def main() -> None:
    """Fetch pages of one site, best first."""
    parser = argparse.ArgumentParser(description="Crawl a site, best pages first.")
    parser.add_argument("start")
    parser.add_argument("--target", default="localhost:7411", help="the linkscore server")
    given = parser.parse_args()
    strategy = LinkscoreCrawlStrategy(given.target, crawl="crawl4ai", max_pages=100)
    config = CrawlerRunConfig(deep_crawl_strategy=strategy, stream=True, verbose=False)
    # Fetches without a browser; leave crawler_strategy out to have one.
    async with AsyncWebCrawler(crawler_strategy=AsyncHTTPCrawlerStrategy(), verbose=False) as crawler:
        async for result in await crawler.arun(given.start, config=config):
            await strategy.reward(result, items=result.html.count('class="post"'))
            print(result.url, flush=True)
    print(dict(strategy.session.counts))
    await strategy.shutdown()


if __name__ == "__main__":
    asyncio.run(main())
