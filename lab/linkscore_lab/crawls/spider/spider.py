"""What a measured crawl is made of in Scrapy: a spider that knows nothing, identity, the budget, and the
drop of links that lead nowhere; for stored sites a handler that asks one loopback server for every URL.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Self
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider, IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor

from linkscore_lab.crawls.spider.plan import PageFetch, SpiderPlan, read_identities
from linkscore_lab.datasets.site import identity, identity_or_none


class StoredSiteHandler(HTTP11DownloadHandler):  # type: ignore[misc]
    """Download handler that sends ``https://host/path`` to the server of a stored site, named in the plan.

    The original host and scheme travel in ``Host`` and ``X-Forwarded-Proto``, as behind a reverse proxy; the
    response carries the original URL.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._via = urlsplit(crawler.spider.plan.via).netloc

    async def download_request(self, request: Request) -> Response:
        """Return the stored answer under the URL that was asked for."""
        response: Response = await super().download_request(self._redirected(request))
        return response.replace(url=request.url)

    def _redirected(self, request: Request) -> Request:
        parts = urlsplit(request.url)
        stored = request.replace(url=parts._replace(scheme="http", netloc=self._via).geturl())
        stored.headers["Host"] = parts.netloc
        stored.headers["X-Forwarded-Proto"] = parts.scheme
        return stored


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
        return cls(_plan(crawler).budget)

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

    def __init__(self, keep: Callable[[str], bool], stats: Any) -> None:
        self._keep, self._stats = keep, stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Keep what the plan knows; without a list, the host of the entry page."""
        plan = _plan(crawler)
        return cls(_keep_known(plan.known) if plan.known else _keep_host(plan.entry), crawler.stats)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Pass on items and links that lead to a page."""
        async for item in result:
            if not isinstance(item, Request):
                yield item
                continue
            self._stats.inc_value("lab/links")
            if self._keep(item.url):
                yield item
            else:
                self._stats.inc_value("lab/dropped")


def _keep_known(path: str) -> Callable[[str], bool]:
    known = read_identities(path)
    return lambda url: identity_or_none(url) in known


def _keep_host(entry: str) -> Callable[[str], bool]:
    host = urlsplit(entry).netloc
    return lambda url: urlsplit(url).netloc == host


def _plan(crawler: Crawler) -> SpiderPlan:
    plan: SpiderPlan = crawler.spider.plan
    return plan


class EveryLinkSpider(Spider):  # type: ignore[misc]
    """Report each page as one line on standard output, then yield a request for each of its anchors."""

    name = "every_link"

    def __init__(self, plan: SpiderPlan, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan = plan
        self.fetched = 0
        self.rewards = read_identities(plan.rewards) if plan.rewards else frozenset()
        self._began = time.monotonic()
        self._anchors = LinkExtractor(
            tags=("a",), attrs=("href",), deny_extensions=[], unique=False, strip=True
        )

    async def start(self) -> AsyncIterator[Request]:
        """Yield the entry page."""
        self._began = time.monotonic()
        yield Request(self.plan.entry, self.parse, errback=self.failed)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Request | dict[str, Any]]:
        """Report the page, yield an item if it is wanted, and follow its links."""
        key = identity(response.url)
        if not self._report(response.url, key, response.status):
            return
        if key in self.rewards:
            yield {"url": response.url}
        yield from self._links(response)
        if self.fetched >= self.plan.budget:
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
            yield Request(
                link.url,
                self.parse,
                errback=self.failed,
                meta={"link_text": link.text, "nofollow": link.nofollow},
            )

    def _report(self, url: str, key: str, status: int) -> bool:
        """Write one line; False when the budget is spent and the page does not count."""
        if self.fetched >= self.plan.budget:
            return False
        self.fetched += 1
        elapsed_s = round(time.monotonic() - self._began, 4)
        print(PageFetch(url, key, status, elapsed_s).dumps(), flush=True, file=sys.stdout)
        return True
