"""One crawl of a crawler on asyncio: pages out, links in order, failures and worth reported; fails open."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from linkscore.aio import AsyncClient
from linkscore.allowance import Allowance
from linkscore.connection import Connection
from linkscore.frontier import Frontier, Item, Place
from linkscore.messages import (
    Budget,
    CrawlOptions,
    Policy,
    Row,
    budget_spec,
    failed_page,
    feedback,
    is_dropped,
    page,
    rows,
)
from linkscore.outages import OwedPage
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

MAX_BODY_BYTES = 8 * 1024 * 1024
"""Longer bodies are cut: what follows was never seen to matter, and it would hit the message limit."""

# What one call may carry (the server's default of `max_buckets_per_call`).
_MAX_RANKED = 100_000
# A bound, chosen: what pages were worth, kept while the server is away.
_MAX_UNSAID = 20_000
_UNSAID_A_CALL = 1_000  # well below what one call may carry (setting `max_feedback_per_call`, 5,000)
_FIRST_FAILURE = 400  # the first HTTP status of a fetch that failed (RFC 9110, section 15.5)
_NOT_MODIFIED = 304  # RFC 9110, section 15.4.5


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
    """What adapters share: an order kept by a `Frontier`, and calls that never stop the crawl.

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
    budget
        How far the crawl may go, fields of `Budget`: nothing is taken any more when it has stopped.
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
        know them) and `fallback` (found while it was away), of these `guessed`; `ranked` answers;
        `skipped` when they were asked about again before the fetch;
        `late/pages` sent and `late/scored` links placed when it was back.

    Raises
    ------
    ValueError
        `target` has no form of an address.
    """

    def __init__(
        self,
        target: str,
        *,
        crawl: str,
        policy: Policy | None = None,
        budget: Budget | None = None,
        rank_every: int = 1,
        **client: Any,
    ) -> None:
        self.crawl = crawl
        self.frontier = Frontier()
        self.frontier.allowance = Allowance(budget)
        config: CrawlOptions = {"policy": policy, "budget": budget_spec(budget)}
        self._connection = Connection(target, crawl=crawl, adapter=self, config=config, **client)
        self._connection.outlook = self.frontier.outlook
        self._rank_every = max(1, rank_every)
        self._since_ranked = self._rank_every
        self._is_news = False
        self._turn = asyncio.Lock()
        self._unsaid: deque[scoring_pb2.Feedback] = deque(maxlen=_MAX_UNSAID)

    @property
    def counts(self) -> Counter[str]:
        """What happened so far."""
        return self._connection.counts

    @property
    def away(self) -> bool:
        """Whether the server is out."""
        return self._connection.away

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
        self.frontier.outlook.fetched(url, is_page=status_code < _FIRST_FAILURE)
        result = await self._connection.ingest(owed)
        if result is None or result.status.code == common_pb2.ITEM_CODE_INVALID:
            self._connection.count("fallback", len(links))
            if result is None and self.away:
                return [OwedLink(owed, index, link.url) for index, link in enumerate(links)]
            return [None] * len(links)
        self._connection.count("pages")
        self.frontier.allowance.take(result)
        # A page without links to send has those the server found, which the crawler does not follow.
        places = self._places(result.links, len(links)) if links else []
        scored = sum(place is not None for place in places)
        self._connection.count("scored", scored)
        self._connection.count("missed", len(links) - scored)
        return places

    @staticmethod
    def _places(scores: common_pb2.LinkScores, n: int) -> list[Place | OwedLink | None]:
        places: list[Place | OwedLink | None] = [None] * n  # an answer is cut at the server's bound
        for row in rows(scores):
            if row.usable:
                places[row.index] = _place(row)
        return places

    async def failed(
        self, url: str, *, status_code: int = 0, fetch_error: str = "", ticket: bytes = b""
    ) -> None:
        """Report a fetch that brought no page, as the page is as it was (304) or the fetch failed."""
        if status_code == _NOT_MODIFIED:
            sent = page(url=url, not_modified=True, ticket=ticket)
        else:
            error = fetch_error if status_code >= _FIRST_FAILURE else fetch_error or "unknown"
            sent = failed_page(url=url, status_code=status_code, fetch_error=error, ticket=ticket)
        self.frontier.outlook.fetched(url, is_page=False)
        result = await self._connection.ingest(OwedPage(sent))
        if result is not None:
            self.frontier.allowance.take(result)
            self._connection.count("failed")

    async def reward(self, url: str, worth: float, *, ticket: bytes = b"") -> None:
        """Say what a page was worth, in [0, 1]; while the server is away it is kept."""
        self._unsaid.append(feedback(url=url, reward=worth, ticket=ticket))
        await self.back()

    async def back(self) -> None:
        """Say what pages were worth."""
        while self._unsaid and not self.away:
            events = [self._unsaid.popleft() for _ in range(min(_UNSAID_A_CALL, len(self._unsaid)))]
            told = await self._connection.call(partial(self._say, events))
            if told is None and self.away:
                self._unsaid.extendleft(reversed(events))
            self._connection.count("rewards", 0 if told is None else len(events))

    async def _say(
        self, events: Sequence[scoring_pb2.Feedback], client: AsyncClient
    ) -> scoring_pb2.ReportFeedbackResponse:
        return await client.report_feedback(crawl=self.crawl, feedback=events)

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
        else:
            self.frontier.add(url, [place], value)

    def late_page(self, owed: OwedPage, result: scoring_pb2.PageResult) -> None:
        """Place the links of a page that was sent when the server was back."""
        self._is_news = True
        self.frontier.allowance.take(result)
        by_index = {row.index: row for row in rows(result.links) if row.usable}
        self.late_links([(key, by_index[key[1]]) for _, key in owed.links if key[1] in by_index])

    def late_links(self, links: Sequence[tuple[Any, Row]]) -> None:
        """Place links that were scored when the server was back."""
        for (url, _), row in links:
            if url in self.frontier:
                self.frontier.add(url, [_place(row)])
                self._connection.count("late/scored")

    async def take(self) -> Item | None:
        """Take the best URL, in the order of now.

        None if none waits, or if none should be fetched before the next answer (`frontier.held`). Call `done`
        when a URL that was taken is answered: what is under way counts when the next is chosen. Callers take
        turns: each knows what those before it took. None too when the budget allows no more (`stopped`).
        """
        async with self._turn:
            await self._rank()
            while not self._is_full and (item := self.frontier.take()) is not None:
                if not await self._is_to_skip(item):
                    return item
                self.frontier.done(item)
                self._connection.count("skipped")
            return None

    @property
    def _is_full(self) -> bool:
        """Whether the budget allows no fetch beside those that the server has not answered."""
        self.frontier.allowance.without_answer(self._connection.uncounted)
        pending = self.frontier.taken + self._connection.unknown
        return self.frontier.ended or self.frontier.allowance.is_full(pending)

    @property
    def stopped(self) -> str:
        """Why the crawl has stopped, ``linkscore_budget`` for example; empty while it goes on.

        ``linkscore_away`` while the server is away and pages that it does not know may be all that was left.
        """
        if self.frontier.ended:
            return self.frontier.allowance.reason
        return "linkscore_away" if self.away and not self.frontier.taken and self._is_full else ""

    async def _is_to_skip(self, item: Item) -> bool:
        """Say whether a link is dropped by a setting of the crawl by now; without an answer it is not."""
        if not (self.frontier.allowance.asks_again and item.ticket):
            return False
        links = [(item.url, item.ticket)]
        answer = await self._connection.call(lambda client: client.score_links(crawl=self.crawl, links=links))
        return answer is not None and any(map(is_dropped, answer.links.skip_reasons))

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
        answer = await self._connection.call(
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
        self._connection.count("ranked")
        values = allotment.read(answer, waiting=waiting, n=self._rank_every)
        self._connection.best = next(iter(values.items()), None)
        self.frontier.revalue(values)


def _place(row: Row) -> Place:
    return Place(row.bucket, row.score, row.bucket_value, row.ticket)
