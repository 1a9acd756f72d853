"""One crawl of a crawler on asyncio: pages out, links in order, failures and worth reported; fails open."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from linkscore.aio import AsyncClient
from linkscore.breaker import OUTAGES, CircuitBreaker
from linkscore.errors import LinkscoreError, NotFound
from linkscore.frontier import Frontier, Item, Place
from linkscore.messages import Policy, failed_page, page, rows
from linkscore.v1 import common_pb2

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_BODY_BYTES = 8 * 1024 * 1024
"""Longer bodies are cut: what follows was never seen to matter, and it would hit the message limit."""

# What one call may carry (the server's default of `max_buckets_per_call`).
_MAX_RANKED = 100_000
_FIRST_FAILURE = 400  # the first HTTP status of a fetch that failed (RFC 9110, section 15.5)


class Found(NamedTuple):
    """A link as the crawler found it: its absolute URL, and the text of its anchor if that is known."""

    url: str
    text: str = ""


class CrawlSession:
    """What adapters share: an order kept by a `Frontier`, and calls that never stop the crawl.

    While the server is away links wait in the order they were found, and calls are tried after 1 s, 2 s, ...
    up to a minute. A server that lost the crawl gets it again.

    Parameters
    ----------
    target
        `host:port` of the server.
    crawl
        Id of the crawl; two runs of one id share what was learned.
    policy
        Policy that scores; the server's default if None.
    rank_every
        The order of the buckets is asked for before every n-th fetch.
    client
        Options of `AsyncClient`: `tls`, `token`, `timeout_s`.

    Attributes
    ----------
    frontier
        What waits.
    counts
        `pages` and `failed` fetches the server took, `rewards`; links `scored`, `missed` (the server did not
        know them) and `fallback` (found while it was away); `ranked` answers.
    """

    def __init__(
        self, target: str, *, crawl: str, policy: Policy | None = None, rank_every: int = 1, **client: Any
    ) -> None:
        self.crawl = crawl
        self.frontier = Frontier()
        self.counts: Counter[str] = Counter()
        self._policy = policy
        self._rank_every = max(1, rank_every)
        self._since_ranked = self._rank_every
        self._is_news = False
        self._turn = asyncio.Lock()
        self._breaker = CircuitBreaker(clock=time.monotonic)
        self._target, self._options = target, client
        self._client: AsyncClient | None = None
        self._created = False
        self._logged: set[str] = set()

    async def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def fetched(
        self,
        url: str,
        body: bytes,
        links: Sequence[Found],
        *,
        final_url: str = "",
        status_code: int = 200,
        content_type: str = "",
        ticket: bytes = b"",
    ) -> list[Place | None]:
        """Send a page with all of its links; give the place of each, in their order.

        None is the place of a link that the server does not know, and of all of them while it is away.
        """
        sent = page(
            url=url,
            final_url=final_url if final_url != url else "",
            status_code=status_code,
            content_type=content_type,
            body=body[:MAX_BODY_BYTES],
            ticket=ticket,
            outlinks=[common_pb2.Outlink(url=link.url, anchor_text=link.text) for link in links],
        )
        answer = await self._call(lambda client: client.ingest_pages(crawl=self.crawl, pages=[sent]))
        if answer is None or answer.results[0].status.code == common_pb2.ITEM_CODE_INVALID:
            self.counts["fallback"] += len(links)
            return [None] * len(links)
        self.counts["pages"] += 1
        # A page without links to send has those the server found, which the crawler does not follow.
        places = _places(answer.results[0].links) if links else []
        places += [None] * (len(links) - len(places))  # cut at the server's bound
        scored = sum(place is not None for place in places)
        self.counts["scored"] += scored
        self.counts["missed"] += len(links) - scored
        return places

    async def failed(
        self, url: str, *, status_code: int = 0, fetch_error: str = "", ticket: bytes = b""
    ) -> None:
        """Report a fetch that brought no page."""
        if status_code < _FIRST_FAILURE:
            fetch_error = fetch_error or "unknown"
        sent = failed_page(url=url, status_code=status_code, fetch_error=fetch_error, ticket=ticket)
        answer = await self._call(lambda client: client.ingest_pages(crawl=self.crawl, pages=[sent]))
        self.counts["failed"] += answer is not None

    async def reward(self, url: str, worth: float, *, ticket: bytes = b"") -> None:
        """Say what a page was worth, in [0, 1]."""

        async def report(client: AsyncClient) -> bool:
            await client.reward(crawl=self.crawl, url=url, reward=worth, ticket=ticket)
            return True

        self.counts["rewards"] += await self._call(report) is not None

    def wait(self, url: str, place: Place | None, value: Any = None) -> None:
        """Let a link wait in its place; one without behind all that have one."""
        if place is None:
            self.frontier.add_unknown(url, value)
        else:
            self.frontier.add(url, [place], value)

    async def take(self) -> Item | None:
        """Take the best URL, in the order of now.

        None if none waits, or if none should be fetched before the next answer (`frontier.held`). Call `done`
        when a URL that was taken is answered: what is under way counts when the next is chosen. Callers take
        turns: each knows what those before it took.
        """
        async with self._turn:
            await self._rank()
            return self.frontier.take()

    def done(self, item: Item) -> None:
        """Note that the server knows what came of a URL that was taken, or never will."""
        self._is_news = True
        self.frontier.done(item)

    async def _rank(self) -> None:
        """Ask which buckets come next: every few fetches, after each answer while places are empty."""
        allotment = self.frontier.allotment
        self._since_ranked += 1
        if allotment.short:
            is_due = self._is_news or not self.frontier.held
        else:
            is_due = self._since_ranked >= self._rank_every
        waiting = dict(islice(self.frontier.waiting.items(), _MAX_RANKED)) if is_due else {}
        if not waiting:
            return
        self._since_ranked, self._is_news = 0, False
        allotment.asked()
        answer = await self._call(
            lambda client: client.rank_buckets(
                crawl=self.crawl,
                buckets=waiting,
                n=self._rank_every,
                in_flight=self.frontier.under_way,
            )
        )
        if answer is None:
            allotment.lift()
            return
        self.counts["ranked"] += 1
        self.frontier.revalue(allotment.read(answer, waiting=waiting, n=self._rank_every))

    async def _call(self, make: Callable[[AsyncClient], Awaitable[T]]) -> T | None:
        """Make a call; on any error say so once and give None, so that the crawl goes on."""
        if not self._breaker.allows():
            return None
        try:
            answer = await self._attempt(make)
        except LinkscoreError as error:
            self._note(error)
            return None
        except asyncio.CancelledError:
            self._breaker.gave_up()
            raise
        if self._breaker.broken:
            logger.info("linkscore answers again")
        self._breaker.succeeded()
        return answer

    async def _attempt(self, make: Callable[[AsyncClient], Awaitable[T]]) -> T:
        if self._client is None:
            self._client = AsyncClient(self._target, **self._options)
        if not self._created:
            await self._client.ensure_crawl(crawl=self.crawl, policy=self._policy)
            self._created = True
        try:
            return await make(self._client)
        except NotFound:  # the server lost the crawl: give it to it again
            await self._client.ensure_crawl(crawl=self.crawl, policy=self._policy)
            return await make(self._client)

    def _note(self, error: LinkscoreError) -> None:
        self.counts[f"errors/{error.code.name}"] += 1
        if error.code in OUTAGES:
            if not self._breaker.broken:
                logger.warning("linkscore does not answer (%s): the crawl goes on without it", error)
            self._breaker.failed(error.retry_after_s)
            return
        self._breaker.succeeded()
        if error.code.name not in self._logged:
            logger.error("linkscore refused a call: %s: %s", error.code.name, error)
        self._logged.add(error.code.name)


def _places(links: common_pb2.LinkScores) -> list[Place | None]:
    values = dict(zip(links.bucket_names, links.bucket_values, strict=False))
    return [
        Place(row.bucket, row.score, values.get(row.bucket, row.score), row.ticket) if row.usable else None
        for row in rows(links)
    ]
