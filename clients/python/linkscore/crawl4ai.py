"""Crawl4AI's deep crawls in the order a linkscore server advises; extra `crawl4ai`.

`LinkscoreCrawlStrategy` stands where `BestFirstCrawlingStrategy` would: it sends every page with its links,
lets the links wait in the buckets they are given, and crawls from the best bucket.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from typing import Any

from crawl4ai.deep_crawling import DeepCrawlStrategy
from crawl4ai.deep_crawling.filters import FilterChain
from crawl4ai.utils import normalize_url_for_deep_crawl

from linkscore._channel import number_problem
from linkscore.frontier import Item
from linkscore.messages import FIRST_FAILURE, Policy
from linkscore.session import CrawlSession, Found

# Characters of an error that are reported: Crawl4AI tells whole stories.
_ERROR_CHARS = 200


class LinkscoreCrawlStrategy(DeepCrawlStrategy):  # type: ignore[misc]  # not there for the type checker
    """Crawls the best pages first.

    Parameters
    ----------
    target
        `host:port` of the server.
    crawl
        Id of the crawl; two runs of one id share what was learned.
    policy
        Policy that scores; the server's default if None.
    max_pages, max_depth, filter_chain, include_external
        As for the strategies of Crawl4AI: pages that were fetched well, links from the start, which links are
        followed.
    batch_size
        Pages fetched at once; the order is renewed between batches.
    client
        Options of `CrawlSession` (`examples`, `budget`, `respect`) and `AsyncClient` (`tls`, `token`).

    Attributes
    ----------
    session
        Order and counters: `session.counts`.

    Notes
    -----
    Results carry `depth`, `parent_url` and `score` in their metadata, as those of Crawl4AI's own do, and
    `linkscore_ticket` for `reward`. Failed fetches are reported. While the server is away links wait where
    links like them were last found, and it is told later what it missed.

    Examples
    --------
    ::

        strategy = LinkscoreCrawlStrategy("localhost:7411", crawl="shop", max_pages=500)
        config = CrawlerRunConfig(deep_crawl_strategy=strategy, stream=True)
        async with AsyncWebCrawler() as crawler:
            async for result in await crawler.arun("https://shop.example/", config=config):
                await strategy.reward(result, items=len(result.tables))
    """

    def __init__(
        self,
        target: str,
        *,
        crawl: str,
        policy: Policy | None = None,
        max_pages: float = math.inf,
        max_depth: float = math.inf,
        filter_chain: Any = None,
        include_external: bool = False,
        batch_size: int = 1,
        **client: Any,
    ) -> None:
        bounds = {"max_pages": (max_pages, 1), "max_depth": (max_depth, 0), "batch_size": (batch_size, 1)}
        for name, (given, least) in bounds.items():
            if problem := number_problem(given, least, math.inf):
                raise ValueError(f"{name}: {problem}")
        self.session = CrawlSession(target, crawl=crawl, policy=policy, **client)
        self.max_pages = max_pages
        self.max_depth = max_depth
        self.filter_chain = filter_chain or FilterChain()
        self.include_external = include_external
        self.batch_size = batch_size
        self._cancelled = False

    async def reward(self, result: Any, *, items: int) -> None:
        """Say how many items a page had; none is worth saying too."""
        ticket = (result.metadata or {}).get("linkscore_ticket", b"")
        await self.session.reward(result.url, float(items > 0), ticket=ticket)

    def cancel(self) -> None:
        """End the crawl after the pages under way."""
        self._cancelled = True

    async def shutdown(self) -> None:
        """End the crawl and close the connection to the server."""
        self.cancel()
        await self.session.close()

    async def can_process_url(self, url: str, depth: int) -> bool:
        """Say whether a link is followed; the filters are not asked about the start."""
        if not url.startswith(("http://", "https://")) or depth > self.max_depth:
            return False
        return depth == 0 or bool(await self.filter_chain.apply(url))

    async def _arun_batch(self, start_url: str, crawler: Any, config: Any) -> list[Any]:
        return [result async for result in self._arun_stream(start_url, crawler, config)]

    async def _arun_stream(self, start_url: str, crawler: Any, config: Any) -> AsyncIterator[Any]:
        self._cancelled = False
        await self.session.start()
        self.session.frontier.add_seed(start_url, (0, None))
        pages: float = 0
        while pages < self.max_pages and not self._cancelled and (items := await self._next(pages)):
            for item, result in await self._fetch(items, crawler, config):
                failed = not result.success or (result.status_code or 0) >= FIRST_FAILURE
                pages += not failed
                yield result
                if failed:
                    status = result.status_code or 0
                    said = "" if status >= FIRST_FAILURE else (result.error_message or "")[:_ERROR_CHARS]
                    await self.session.failed(
                        item.url, status_code=status, fetch_error=said, ticket=item.ticket
                    )
                else:
                    await self.link_discovery(result, item.url, item.value[0], set(), [], {})
                self.session.done(item)
            for item in items:  # those Crawl4AI has no result of
                self.session.done(item)

    async def _next(self, pages: float) -> list[Item]:
        """Take the best links, as many as are fetched at once."""
        items: list[Item] = []
        most = min(self.batch_size, self.max_pages - pages)
        while len(items) < most and (item := await self.session.take()) is not None:
            items.append(item)
        return items

    async def _fetch(self, items: list[Item], crawler: Any, config: Any) -> list[tuple[Item, Any]]:
        """Fetch links at once; the results are in the order of the links, whichever came first."""
        once = config.clone(deep_crawl_strategy=None, stream=False)
        found = await crawler.arun_many(urls=[item.url for item in items], config=once)
        by_url = {result.url: result for result in found}
        pairs = [(item, by_url[item.url]) for item in items if item.url in by_url]
        for item, result in pairs:
            result.metadata = {
                **(result.metadata or {}),
                "depth": item.value[0],
                "parent_url": item.value[1],
                "score": item.score,
                "linkscore_ticket": item.ticket,
            }
        return pairs

    async def link_discovery(
        self,
        result: Any,
        source_url: str,
        current_depth: int,
        visited: set[str],
        next_level: list[Any],
        depths: dict[str, int],
    ) -> None:
        """Send a page with all of its links, and let those wait that are to be followed."""
        inside, outside = result.links.get("internal", []), result.links.get("external", [])
        links = [link for link in (*inside, *outside) if link.get("href")]
        found = []
        for number, link in enumerate(links):
            url = normalize_url_for_deep_crawl(link["href"], source_url)
            is_inside = self.include_external or number < len(inside)
            way = (current_depth + 1, source_url)
            waiting = self.session.frontier.get(url)
            if waiting is not None and way[0] < waiting.value[0]:  # a shorter way leads further
                waiting.value = way
            follows = waiting is not None or (
                is_inside and not self.session.knows(url) and await self.can_process_url(url, way[0])
            )
            found.append(Found(link["href"], link.get("text") or "", key=url, value=way, follow=follows))
        await self.session.fetched(
            source_url,
            (result.html or "").encode(),
            found,
            final_url=result.redirected_url or "",
            status_code=result.status_code or 0,
            content_type="text/html; charset=utf-8",
            ticket=(result.metadata or {}).get("linkscore_ticket", b""),
        )
