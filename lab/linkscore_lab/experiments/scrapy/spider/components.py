"""What a measured crawl plugs into Scrapy: identity, the budget, and the drop of links that lead nowhere."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from typing import Any, Self
from urllib.parse import urlsplit

from linkscore_lab.datasets.site import identity, identity_or_none
from linkscore_lab.experiments.scrapy.spider.plan import CrawlPlan, read_identities
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response


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


def _plan(crawler: Crawler) -> CrawlPlan:
    plan: CrawlPlan = crawler.spider.plan
    return plan
