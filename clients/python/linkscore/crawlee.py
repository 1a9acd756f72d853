"""Crawlee for Python in the order a server advises: a request manager; extra `crawlee`.

The manager stands in place of Crawlee's request queue. Each page goes to the server with its body and the
links the handler enqueued, when the handler is done; the links wait in the buckets they are given. Failed
requests are reported. While the server is away links wait where links like them were last found, and it is
told later what it missed: the crawl goes on.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from crawlee import Request, RequestState
from crawlee.request_loaders import RequestManager
from crawlee.storage_clients.models import ProcessedRequest

from linkscore.frontier import Item
from linkscore.messages import Policy
from linkscore.session import CrawlSession, Found


@dataclass(slots=True)
class _Page:
    """A request under way: what was fetched, and the links the handler enqueued so far."""

    item: Item
    body: bytes = b""
    status_code: int = 0
    content_type: str = ""
    links: list[Request] = field(default_factory=list)


_current: ContextVar[_Page | None] = ContextVar("linkscore_crawlee_page", default=None)


class LinkscoreRequestManager(RequestManager):  # type: ignore[misc]  # not there for the type checker
    """Gives Crawlee's best request first; the requests that wait are kept in memory.

    Parameters
    ----------
    target
        `host:port` of the server.
    crawl
        Id of the crawl; two runs of one id share what was learned.
    policy
        Policy that scores; the server's default if None.
    client
        Options of `CrawlSession` (`examples`, `budget`, `respect`) and `AsyncClient` (`tls`, `token`).

    Attributes
    ----------
    session
        Order and counters: `session.counts`.

    Examples
    --------
    ::

        manager = LinkscoreRequestManager("localhost:7411", crawl="shop")
        crawler = manager.attach(BeautifulSoupCrawler(request_manager=manager, max_requests_per_crawl=500))

        @crawler.router.default_handler
        async def handle(context):
            await context.enqueue_links()
            await manager.reward(context.request, items=1)

        await crawler.run(["http://shop.example/"])
    """

    def __init__(self, target: str, *, crawl: str, policy: Policy | None = None, **client: Any) -> None:
        self.session = CrawlSession(target, crawl=crawl, policy=policy, **client)
        self._under_way: dict[str, _Page] = {}
        self._handled = 0

    def attach(self, crawler: Any) -> Any:
        """Let the manager see what the crawler fetches; gives the crawler back.

        For all crawlers that have `post_navigation_hook`: of HTML over HTTP, and of browsers.
        """
        crawler.post_navigation_hook(self._fetched)
        return crawler

    async def reward(self, request: Request, *, items: int) -> None:
        """Say how many items a page had; none is worth saying too."""
        page = self._under_way.get(request.unique_key)
        ticket = page.item.ticket if page is not None else b""
        await self.session.reward(request.url, float(items > 0), ticket=ticket)

    async def close(self) -> None:
        """Close the connection to the server."""
        await self.session.close()

    async def _fetched(self, context: Any) -> None:
        """Keep what was fetched until the handler is done with it."""
        page = self._under_way.get(context.request.unique_key)
        _current.set(page)
        if page is None:
            return
        response = getattr(context, "http_response", None)
        if response is not None:
            page.status_code, page.body = response.status_code, await response.read()
            page.content_type = response.headers.get("content-type", "")
            return
        page.body = (await context.page.content()).encode()
        page.content_type = "text/html; charset=utf-8"
        page.status_code = context.response.status if context.response else 0

    # What Crawlee asks of a request manager

    async def add_request(
        self, request: str | Request, *, forefront: bool = False
    ) -> ProcessedRequest | None:
        """Let a request wait: a link of the page whose handler is done, else a start page."""
        await self.session.start()
        made = Request.from_url(request) if isinstance(request, str) else request
        page = _current.get()
        known = self.session.knows(made.unique_key)
        if page is not None and not forefront:
            page.links.append(made)
        elif not known:
            self.session.frontier.add_seed(made.unique_key, made)
        return _processed(made, present=known)

    async def fetch_next_request(self) -> Request | None:
        """Give the best request."""
        item = await self.session.take()
        if item is None:
            return None
        self._under_way[item.url] = _Page(item)
        request: Request = item.value
        return request

    async def mark_request_as_handled(self, request: Request) -> ProcessedRequest | None:
        """Send the page of a request that is done, or report that it failed."""
        page = self._under_way.get(request.unique_key)
        if page is None:
            return None
        ticket = page.item.ticket
        if request.state is RequestState.ERROR:
            error = "" if page.status_code else "unknown"
            await self.session.failed(
                request.url, status_code=page.status_code, fetch_error=error, ticket=ticket
            )
        else:
            links, page.links = page.links, []
            await self.session.fetched(
                request.url,
                page.body,
                [Found(link.url, key=link.unique_key, value=link) for link in links],
                final_url=request.loaded_url or "",
                status_code=page.status_code,
                content_type=page.content_type,
                ticket=ticket,
            )
        del self._under_way[request.unique_key]
        self.session.done(page.item)
        self._handled += 1
        return _processed(request, present=True, handled=True)

    async def reclaim_request(self, request: Request, *, forefront: bool = False) -> ProcessedRequest | None:
        """Take a request back that is to be tried again: it goes ahead of all others."""
        page = self._under_way.pop(request.unique_key, None)
        if page is not None:
            self.session.done(page.item)
        self.session.frontier.add_seed(request.unique_key, request)
        return _processed(request, present=True)

    async def get_handled_count(self) -> int:
        """Count the requests that are done."""
        return self._handled

    async def get_total_count(self) -> int:
        """Count all requests."""
        return self._handled + len(self._under_way) + len(self.session.frontier)

    async def is_empty(self) -> bool:
        """Say whether nothing may be fetched now."""
        frontier = self.session.frontier
        return not len(frontier) or frontier.held or frontier.ended

    async def is_finished(self) -> bool:
        """Say whether all is done."""
        frontier = self.session.frontier
        return not self._under_way and (not len(frontier) or frontier.ended)

    async def purge(self) -> None:
        """Forget all that waits; counters stay."""
        self.session.clear()
        self._under_way.clear()

    drop = purge


def _processed(request: Request, *, present: bool, handled: bool = False) -> ProcessedRequest:
    return ProcessedRequest(
        unique_key=request.unique_key, was_already_present=present, was_already_handled=handled
    )
