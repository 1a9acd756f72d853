"""One crawl of a crawler on asyncio: pages out, links in order, failures and worth reported; fails open."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from linkscore.connection import Connection
from linkscore.frontier import Item, Place
from linkscore.messages import (
    Budget,
    CrawlOptions,
    Example,
    Policy,
    Row,
    Wanted,
    failed_page,
    feedback,
    page,
    rows,
)
from linkscore.outages import OwedPage
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

MAX_BODY_BYTES = 8 * 1024 * 1024
"""Longer bodies are cut: what follows was never seen to matter, and it would hit the message limit."""

FIRST_FAILURE = 400  # the first HTTP status of a fetch that failed (RFC 9110, section 15.5)
NOT_MODIFIED = 304  # RFC 9110, section 15.4.5


class Found(NamedTuple):
    """A link as the crawler found it: its absolute URL, and the text of its anchor if that is known."""

    url: str
    text: str = ""


class OwedLink(NamedTuple):
    """The place of a link that the server did not answer yet: a page to be sent, and which of its links."""

    page: OwedPage
    place: int
    url: str


class CrawlSession:
    """What adapters share: an order kept by a `Frontier`, and calls that never stop the crawl once it began.

    While the server is away links wait where links of their shape were last found, values of buckets fade
    with what is taken from them, and a cheap call asks every 1 to 5 s whether it is back. Then the pages
    fetched meanwhile are sent beside the crawl. A server that lost the crawl gets it again.

    Parameters
    ----------
    target
        `host:port` of the server.
    crawl
        Id of the crawl; two runs of one id share what was learned.
    policy
        Policy that scores; the server's default if None.
    wanted
        What the crawl is for, in words: a query, or fields of `Wanted` by name.
    examples
        Pages like those wanted: URLs, ``URL=FILE`` of HTML, (URL, body), or messages.
    budget
        How far the crawl may go, fields of `Budget`: nothing is taken any more when it has stopped.
    respect
        Uses that the crawl is for and that sites may reserve: ``["ai-train"]``.
    client
        Options of `AsyncClient`: `tls`, `token`, `timeout_s`.

    Attributes
    ----------
    frontier
        What waits.
    counts
        `pages` and `failed` fetches the server took, `feedback`; links `scored`, `missed` (the server did not
        know them) and `fallback` (found while it was away), of these `guessed`; `ranked` answers;
        `skipped` when they were asked about again before the fetch;
        `late/pages` sent and `late/scored` links placed when it was back.

    Raises
    ------
    ValueError
        An option cannot be what is given, which the message names.
    """

    def __init__(
        self,
        target: str,
        *,
        crawl: str,
        policy: Policy | None = None,
        wanted: Wanted | None = None,
        examples: Sequence[Example] = (),
        budget: Budget | None = None,
        respect: Sequence[str] = (),
        **client: Any,
    ) -> None:
        self.crawl = crawl
        config: CrawlOptions = {"policy": policy, "wanted": wanted, "budget": budget}
        if examples:
            config["examples"] = examples
        if respect:
            config["respect"] = respect
        self._connection = Connection(target, crawl=crawl, config=config, late_page=self._late_page, **client)
        self._allowance = self._connection.allowance
        self.frontier = self._connection.frontier
        self._is_news = False
        self._greeting: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    @property
    def counts(self) -> Counter[str]:
        """What happened so far."""
        return self._connection.counts

    @property
    def away(self) -> bool:
        """Whether the server is out."""
        return self._connection.away

    async def start(self) -> None:
        """Create the crawl, once; `fetched` and `take` do so too. A server that is away does not matter.

        Raises
        ------
        ValueError
            The server refuses what was set, which the message names: the crawl is not to begin.
        """
        if self._greeting is None:
            self._greeting = asyncio.ensure_future(self._connection.greet())
        await asyncio.shield(self._greeting)

    async def close(self) -> None:
        """Send what waits, if the server answers, and close the connection."""
        await self._connection.close()

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
    ) -> list[Place | OwedLink | None]:
        """Send a page with all of its links; give the place of each, in their order, for `wait`.

        None is the place of a link that the server does not know. While it is away places are owed.
        """
        await self.start()
        sent = page(
            url=url,
            final_url=final_url if final_url != url else "",
            status_code=status_code,
            content_type=content_type,
            body=body[:MAX_BODY_BYTES],
            ticket=ticket,
            outlinks=[common_pb2.Outlink(url=link.url, anchor_text=link.text) for link in links],
        )
        owed = OwedPage(sent)
        self.frontier.outlook.fetched(url, is_page=status_code < FIRST_FAILURE)
        result = await self._connection.ingest(owed)
        if result is None:
            self._connection.count("fallback", len(links))
            if self.away:
                return [OwedLink(owed, index, link.url) for index, link in enumerate(links)]
            return [None] * len(links)
        self._connection.count("pages")
        # A page without links to send has those the server found, which the crawler does not follow.
        places: list[Place | OwedLink | None] = [None] * len(links)  # an answer is cut at the server's bound
        for row in rows(result.links):
            if row.usable and row.index < len(links):
                places[row.index] = _place(row)
        scored = len(links) - places.count(None)
        self._connection.count("scored", scored)
        self._connection.count("missed", len(links) - scored)
        return places

    async def failed(
        self, url: str, *, status_code: int = 0, fetch_error: str = "", ticket: bytes = b""
    ) -> None:
        """Report a fetch that brought no page, as the page is as it was (304) or the fetch failed."""
        if status_code == NOT_MODIFIED:
            sent = page(url=url, not_modified=True, ticket=ticket)
        else:
            error = fetch_error if status_code >= FIRST_FAILURE else fetch_error or "unknown"
            sent = failed_page(url=url, status_code=status_code, fetch_error=error, ticket=ticket)
        self.frontier.outlook.fetched(url, is_page=False)
        if await self._connection.ingest(OwedPage(sent)) is not None:
            self._connection.count("failed")

    async def reward(self, url: str, worth: float, *, ticket: bytes = b"") -> None:
        """Say what a page was worth, in [0, 1]; while the server is away it is kept."""
        self._connection.owe_feedback(feedback(url=url, reward=worth, ticket=ticket))
        await self._connection.send_feedback()

    def wait(self, url: str, place: Place | OwedLink | None, value: Any = None) -> None:
        """Let a link wait in its place; one without behind all that have one."""
        if isinstance(place, OwedLink):
            place.page.links.append((place.url, (url, place.place)))
            guess = self.frontier.outlook.guess(url)
            if guess and url not in self.frontier:
                self._connection.count("guessed")
                self.frontier.add_guess(url, *guess, value)
                return
            place = None
        if place is None:
            self.frontier.add_unknown(url, value)
            return
        if url not in self.frontier:
            self.frontier.outlook.placed(url, place.bucket, place.value)
        self.frontier.add(url, [place], value)

    def _late_page(self, owed: OwedPage, result: scoring_pb2.PageResult) -> None:
        """Place the links of a page that was sent when the server was back."""
        self._is_news = True
        by_index = {row.index: row for row in rows(result.links) if row.usable}
        for _, (url, index) in owed.links:
            if index in by_index and url in self.frontier:
                self.frontier.add(url, [_place(by_index[index])])
                self._connection.count("late/scored")

    async def take(self) -> Item | None:
        """Take the best URL, in the order of now.

        None if none waits, or if none should be fetched before the next answer (`frontier.held`). Call `done`
        when a URL that was taken is answered: what is under way counts when the next is chosen. Callers take
        turns: each knows what those before it took. None too when the budget allows no more (`stopped`).
        """
        await self.start()
        async with self._turn:
            await self._rank()
            while not self._is_full and (item := self.frontier.take()) is not None:
                may_be_dropped = self._allowance.asks_again and item.ticket
                if not (may_be_dropped and await self._connection.is_to_skip(item.url, item.ticket)):
                    return item
                self.frontier.done(item)
                self._connection.count("skipped")
            return None

    @property
    def _is_full(self) -> bool:
        """Whether the budget allows no fetch beside those that the server has not answered."""
        self._allowance.without_answer(self._connection.uncounted)
        pending = self.frontier.taken + self._connection.unknown
        return self.frontier.ended or self._allowance.is_full(pending)

    @property
    def stopped(self) -> str:
        """Why the crawl has stopped, ``linkscore_budget`` for example; empty while it goes on.

        ``linkscore_away`` while the server is away and pages that it does not know may be all that was left.
        """
        if self.frontier.ended:
            return self._allowance.reason
        return "linkscore_away" if self.away and not self.frontier.taken and self._is_full else ""

    def done(self, item: Item) -> None:
        """Note that the server knows what came of a URL that was taken, or never will."""
        self._is_news = True
        self.frontier.done(item)

    async def _rank(self) -> None:
        """Ask which buckets come next, while places are empty only after an answer."""
        if self._is_news or not self.frontier.held:
            self._is_news = not await self._connection.rank()


def _place(row: Row) -> Place:
    return Place(row.bucket, row.score, row.bucket_value, row.ticket)
