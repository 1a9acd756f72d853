"""Crawls a site with Crawl4AI, plain or in the order of a server, and prints what it fetched.

python crawl_with_crawl4ai.py --start http://shop.example/ --fetches 500 --target localhost:7411
"""

from __future__ import annotations

import argparse
import asyncio
import math
import sys
import time
from typing import Any

from crawl4ai import AsyncWebCrawler, CacheMode, CrawlerRunConfig, HTTPCrawlerConfig, ProxyConfig
from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy
from crawl4ai.content_scraping_strategy import LXMLWebScrapingStrategy
from crawl4ai.deep_crawling import BestFirstCrawlingStrategy

from linkscore.crawl4ai import LinkscoreCrawlStrategy


async def main() -> None:
    """Crawl as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--start", required=True, help="where to start")
    parser.add_argument(
        "--target", default="", help="linkscore server; empty crawls with Crawl4AI's best-first"
    )
    parser.add_argument("--proxy", help="HTTP proxy, for example that of a stored site")
    parser.add_argument("--fetches", type=int, default=500, help="pages to fetch")
    parser.add_argument("--crawl", default="crawl4ai", help="name of the crawl on the server")
    parser.add_argument("--batch", type=int, default=1, help="pages fetched at once, with linkscore")
    given = parser.parse_args()
    ours: LinkscoreCrawlStrategy | None = None
    strategy: Any = BestFirstCrawlingStrategy(max_depth=sys.maxsize)
    if given.target:
        strategy = ours = LinkscoreCrawlStrategy(
            given.target, crawl=given.crawl, batch_size=given.batch, max_pages=math.inf
        )
    config = CrawlerRunConfig(
        deep_crawl_strategy=strategy,
        scraping_strategy=LXMLWebScrapingStrategy(),
        cache_mode=CacheMode.BYPASS,
        proxy_config=ProxyConfig(server=given.proxy) if given.proxy else None,
        stream=True,
        verbose=False,
    )
    began, fetched = time.monotonic(), 0
    http = AsyncHTTPCrawlerStrategy(browser_config=HTTPCrawlerConfig())
    async with AsyncWebCrawler(crawler_strategy=http, verbose=False) as crawler:
        async for result in await crawler.arun(given.start, config=config):
            print(f"{result.status_code or 0}\t{result.url}", flush=True)
            fetched += 1
            if fetched == given.fetches:
                strategy.cancel()
                break
    counts = dict(ours.session.counts) if ours is not None else {}
    print(f"{counts} {time.monotonic() - began:.1f} s", file=sys.stderr)
    await strategy.shutdown()


if __name__ == "__main__":
    asyncio.run(main())
