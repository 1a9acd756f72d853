"""Crawls a site with Scrapy, plain or in the order of a server, and prints what it fetched.

python crawl_with_scrapy.py --start http://shop.example/ --fetches 500 --target localhost:7411
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import CloseSpider
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor


class Site(Spider):  # type: ignore[misc]
    """Fetches pages of one site, a given number of them."""

    name = "site"

    def __init__(self, start: str, fetches: int, proxy: str | None, **more: Any) -> None:
        super().__init__(**more)
        self.begin, self.left = start, fetches
        self.meta = {"proxy": proxy} if proxy else {}
        self.links = LinkExtractor(allow_domains=[urlsplit(start).netloc], deny_extensions=[])

    async def start(self) -> AsyncIterator[Request]:
        """Ask for the first page."""
        yield Request(self.begin, meta=self.meta, errback=self.failed)

    def parse(self, response: Response, **more: Any) -> Iterator[Request]:
        """Follow the links of a page."""
        self.fetched(response.status, response.url)
        if isinstance(response, TextResponse) and response.status < 400:
            for link in self.links.extract_links(response):
                yield Request(link.url, meta={**self.meta, "link_text": link.text}, errback=self.failed)

    def failed(self, failure: Any) -> None:
        """Count a fetch that brought no page."""
        self.fetched(0, failure.request.url)

    def fetched(self, status: int, url: str) -> None:
        """Say what was fetched, until enough is."""
        if self.left <= 0:
            raise CloseSpider("enough")
        self.left -= 1
        print(f"{status}\t{url}", flush=True)


def main() -> None:
    """Crawl as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--start", required=True, help="where to start")
    parser.add_argument("--target", default="", help="linkscore server; empty crawls in Scrapy's own order")
    parser.add_argument("--proxy", help="HTTP proxy, for example that of a stored site")
    parser.add_argument("--fetches", type=int, default=500, help="pages to fetch")
    parser.add_argument("--crawl", default="scrapy", help="name of the crawl on the server")
    given = parser.parse_args()
    settings: dict[str, Any] = {
        "CONCURRENT_REQUESTS": 1,
        "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 0,  # the links of a page wait before the next is chosen
        "DOWNLOAD_DELAY": 0,
        "CLOSESPIDER_PAGECOUNT": given.fetches,
        "HTTPERROR_ALLOW_ALL": True,
        "RETRY_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
    }
    if given.target:
        settings |= {
            "SPIDER_MIDDLEWARES": {"linkscore.scrapy.LinkscoreMiddleware": 40},
            "SCHEDULER_PRIORITY_QUEUE": "linkscore.scrapy.BucketQueue",
            "LINKSCORE_TARGET": given.target,
            "LINKSCORE_CRAWL": given.crawl,
        }
    began = time.monotonic()
    process = CrawlerProcess(settings)
    crawler = process.create_crawler(Site)
    process.crawl(crawler, start=given.start, fetches=given.fetches, proxy=given.proxy)
    process.start()
    stats = crawler.stats.get_stats() if crawler.stats else {}
    counts = {key: value for key, value in stats.items() if key.startswith("linkscore/")}
    logging.shutdown()
    print(f"{counts} {time.monotonic() - began:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
