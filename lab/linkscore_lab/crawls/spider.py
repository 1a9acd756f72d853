"""The crawl process, ``python -m linkscore_lab.crawls.spider PLAN``: fetches go to standard output.

A spider that knows nothing, the lab's identity of URLs, and a budget. Scrapy's log goes to standard error.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.exceptions import CloseSpider, IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor

from linkscore_lab.datasets.site import identity

_HERE = "linkscore_lab.crawls.spider"
BASE_SETTINGS: dict[str, Any] = {
    "CONCURRENT_REQUESTS": 1,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOADER_MIDDLEWARES": {f"{_HERE}.BudgetMiddleware": 10},
    "REQUEST_FINGERPRINTER_CLASS": f"{_HERE}.IdentityFingerprinter",
    "HTTPERROR_ALLOW_ALL": True,
    "METAREFRESH_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "URLLENGTH_LIMIT": 0,
    "LOG_LEVEL": "INFO",
}
Plan = dict[str, Any]
"""What `run_crawl` writes: entry, budget and settings."""


class IdentityFingerprinter:
    """Scrapy's duplicate filter by the lab's URL identity, so that both count the same pages."""

    def fingerprint(self, request: Request) -> bytes:
        """Return a digest of the identity of the request's URL."""
        return hashlib.sha1(identity(request.url).encode(), usedforsecurity=False).digest()


class BudgetMiddleware:
    """Downloader middleware: let as many downloads begin as the budget has pages, and not one more.

    A redirect's next hop belongs to the download that led to it.
    """

    def __init__(self, budget: int) -> None:
        self._left = budget

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read the budget from the plan of the spider."""
        return cls(crawler.spider.plan["budget"])

    def process_request(self, request: Request) -> None:
        """Refuse what the budget does not pay for."""
        if request.meta.get("redirect_times"):
            return
        if self._left <= 0:
            request.meta["over_budget"] = True
            raise IgnoreRequest("the budget is spent")
        self._left -= 1


class EveryLinkSpider(Spider):  # type: ignore[misc]
    """Report each page as one line on standard output, then yield a request for each of its anchors."""

    name = "every_link"

    def __init__(self, plan: Plan, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan = plan
        self.fetched = 0
        self._began = time.monotonic()
        self._anchors = LinkExtractor(
            tags=("a",), attrs=("href",), deny_extensions=[], unique=False, strip=True
        )

    async def start(self) -> AsyncIterator[Request]:
        """Yield the entry page."""
        self._began = time.monotonic()
        yield Request(self.plan["entry"], self.parse, errback=self.failed)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request]:
        """Report the page, and follow its links."""
        if not self._report(response.url, response.status):
            return
        yield from self._links(response)
        if self.fetched >= self.plan["budget"]:
            raise CloseSpider("budget")

    def failed(self, failure: Any) -> None:
        """Report a download that failed: it cost a fetch too."""
        request = getattr(failure, "request", None)
        if request is not None and not request.meta.get("over_budget"):
            self._report(request.url, 0)

    def _links(self, response: Response) -> Iterator[Request]:
        if not isinstance(response, TextResponse) or response.status >= 400:
            return
        for link in self._anchors.extract_links(response):
            yield Request(link.url, self.parse, errback=self.failed)

    def _report(self, url: str, status: int) -> bool:
        """Write one line; False when the budget is spent and the page does not count."""
        if self.fetched >= self.plan["budget"]:
            return False
        self.fetched += 1
        took = round(time.monotonic() - self._began, 4)
        print(json.dumps([url, identity(url), status, took]), flush=True)
        return True


def crawl_settings(plan: Plan) -> dict[str, Any]:
    """Return Scrapy's settings for `plan`: the base, then its mode; tables of components are merged."""
    settings = dict(BASE_SETTINGS)
    for name, value in plan["settings"].items():
        base = settings.get(name)
        settings[name] = {**base, **value} if isinstance(base, dict) else value
    if settings["CONCURRENT_REQUESTS"] == 1:
        # No request leaves the queue before the links of the page before it are in it.
        settings.setdefault("SCRAPER_SLOT_MAX_ACTIVE_SIZE", 0)
    return settings


def _leave_with_parent() -> None:
    """End this process as soon as its standard input closes."""

    def wait() -> None:
        sys.stdin.read()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    """Run one crawl and print its stats as the last line."""
    plan = json.loads(sys.argv[1])
    _leave_with_parent()
    process = CrawlerProcess(crawl_settings(plan))
    crawler = process.create_crawler(EveryLinkSpider)
    process.crawl(crawler, plan=plan)
    process.start()
    if process.bootstrap_failed:
        sys.exit("the crawl did not start; its log says why")
    print(json.dumps(crawler.stats.get_stats(), default=str), flush=True)


if __name__ == "__main__":
    main()
