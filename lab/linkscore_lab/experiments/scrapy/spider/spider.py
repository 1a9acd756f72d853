"""A spider that knows nothing: it follows every anchor in document order and leaves the queue to choose."""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from linkscore_lab.datasets.site import identity
from linkscore_lab.experiments.scrapy.spider.plan import CrawlPlan, Fetch, read_identities
from scrapy import Request, Spider
from scrapy.exceptions import CloseSpider
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor


class EveryLinkSpider(Spider):  # type: ignore[misc]
    """Report each page as one line on standard output, then yield a request for each of its anchors.

    Parameters
    ----------
    plan
        What to crawl.
    """

    name = "every_link"

    def __init__(self, plan: CrawlPlan, **kwargs: Any) -> None:
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
        print(Fetch(url, key, status, elapsed_s).dumps(), flush=True, file=sys.stdout)
        return True
