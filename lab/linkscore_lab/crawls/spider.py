"""The crawl process, ``python -m linkscore_lab.crawls.spider PLAN``: fetches go to standard output.

A spider that knows nothing, the lab's identity of URLs, a budget, and the drop of links that lead nowhere;
for stored sites a handler that asks one loopback server for every URL. Scrapy's log goes to standard error.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler, CrawlerProcess
from scrapy.exceptions import CloseSpider, IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor

from linkscore_lab.datasets.site import identity, identity_or_none

_HERE = "linkscore_lab.crawls.spider"
BASE_SETTINGS: dict[str, Any] = {
    "CONCURRENT_REQUESTS": 1,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOADER_MIDDLEWARES": {f"{_HERE}.BudgetMiddleware": 10},
    "SPIDER_MIDDLEWARES": {f"{_HERE}.DropUnknownLinks": 500},
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
"""What `run_crawl` writes: entry, via, known, budget, rewards and settings."""


class StoredSiteHandler(HTTP11DownloadHandler):  # type: ignore[misc]
    """Download handler that sends ``https://host/path`` to the server of a stored site, named in the plan.

    The original host and scheme travel in ``Host`` and ``X-Forwarded-Proto``, as behind a reverse proxy; the
    response carries the original URL.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._via = urlsplit(crawler.spider.plan["via"]).netloc

    async def download_request(self, request: Request) -> Response:
        """Return the stored answer under the URL that was asked for."""
        parts = urlsplit(request.url)
        stored = request.replace(url=parts._replace(scheme="http", netloc=self._via).geturl())
        stored.headers["Host"] = parts.netloc
        stored.headers["X-Forwarded-Proto"] = parts.scheme
        response: Response = await super().download_request(stored)
        return response.replace(url=request.url)


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


class DropUnknownLinks:
    """Spider middleware: drop links to pages that do not exist here, before anything queues them.

    Stats: ``lab/links`` (all that came), ``lab/dropped`` (of these, dropped).
    """

    def __init__(self, plan: Plan, stats: Any) -> None:
        self._known = None if plan["known"] is None else frozenset(plan["known"])
        self._host, self._stats = urlsplit(plan["entry"]).netloc, stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Keep what the plan knows; without a list, the host of the entry page."""
        return cls(crawler.spider.plan, crawler.stats)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Pass on items and links that lead to a page."""
        async for item in result:
            if isinstance(item, Request):
                self._stats.inc_value("lab/links")
                if not self._leads_somewhere(item.url):
                    self._stats.inc_value("lab/dropped")
                    continue
            yield item

    def _leads_somewhere(self, url: str) -> bool:
        if self._known is None:
            return urlsplit(url).netloc == self._host
        return identity_or_none(url) in self._known


class EveryLinkSpider(Spider):  # type: ignore[misc]
    """Report each page as one line on standard output, then yield a request for each of its anchors."""

    name = "every_link"

    def __init__(self, plan: Plan, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan = plan
        self.fetched = 0
        self.rewards = frozenset(plan["rewards"])
        self._began = time.monotonic()
        self._anchors = LinkExtractor(
            tags=("a",), attrs=("href",), deny_extensions=[], unique=False, strip=True
        )

    async def start(self) -> AsyncIterator[Request]:
        """Yield the entry page."""
        self._began = time.monotonic()
        yield Request(self.plan["entry"], self.parse, errback=self.failed)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request | dict[str, Any]]:
        """Report the page, yield an item if it is wanted, and follow its links."""
        key = identity(response.url)
        if not self._report(response.url, key, response.status):
            return
        if key in self.rewards:
            yield {"url": response.url}
        yield from self._links(response)
        if self.fetched >= self.plan["budget"]:
            raise CloseSpider("budget")

    def failed(self, failure: Any) -> None:
        """Report a download that failed: it cost a fetch too."""
        request = getattr(failure, "request", None)
        if request is not None and not request.meta.get("over_budget"):
            self._report(request.url, identity(request.url), 0)

    def _links(self, response: Response) -> Iterator[Request]:
        if not isinstance(response, TextResponse) or response.status >= 400:
            return
        for link in self._anchors.extract_links(response):
            meta = {"link_text": link.text, "nofollow": link.nofollow}
            yield Request(link.url, self.parse, errback=self.failed, meta=meta)

    def _report(self, url: str, key: str, status: int) -> bool:
        """Write one line; False when the budget is spent and the page does not count."""
        if self.fetched >= self.plan["budget"]:
            return False
        self.fetched += 1
        print(json.dumps([url, key, status, round(time.monotonic() - self._began, 4)]), flush=True)
        return True


def crawl_settings(plan: Plan) -> dict[str, Any]:
    """Return Scrapy's settings for `plan`: the base, then its mode; tables of components are merged."""
    settings = dict(BASE_SETTINGS)
    if plan["via"]:
        handler = f"{_HERE}.StoredSiteHandler"
        settings["DOWNLOAD_HANDLERS"] = {"http": handler, "https": handler}
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
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
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
