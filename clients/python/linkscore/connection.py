"""The calls of one crawl to its server, none of which stops the crawl: adapters on asyncio share it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

import grpc

from linkscore._channel import DEFAULT_TIMEOUT_S, target_problem
from linkscore.aio import AsyncClient
from linkscore.breaker import PROBE_FIRST_S, PROBE_LONGEST_S, QUOTA_EXCEEDED, is_outage
from linkscore.errors import LinkscoreError, NotFound, ResourceExhausted
from linkscore.messages import CrawlOptions, Row, rows
from linkscore.outages import MAX_TRIES, Outlook, OwedPage, PageBuffer
from linkscore.v1 import common_pb2
from linkscore.v1 import crawl_service_pb2 as crawl_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

logger = logging.getLogger("linkscore")

T = TypeVar("T")

PROBE_TIMEOUT_S = 1.0
"""Deadline of the cheap call that asks whether the server is back; it takes milliseconds."""

PATIENCE_S = 60.0
"""Absence after which a crawl ends that only waits for the server: it is back in seconds if it starts again;
chosen, not measured."""

MINUTE_S = 60.0
"""Between two lines that say how it goes."""

# Links of one call of ScoreLinks, chosen: an answer takes milliseconds.
_SLICE = 500
# A bound, chosen: distinct messages of refused calls that are logged; the counters count them all.
_MAX_LOGGED = 20
# RESOURCE_EXHAUSTED for these reasons says nothing about the page that was sent.
_NOT_THE_PAGE = frozenset({"DISK_FULL", "OVERLOADED"})


class Adapter(Protocol):
    """What is asked of who makes the calls."""

    def late_page(self, owed: OwedPage, result: scoring_pb2.PageResult) -> None:
        """Place the links of a page that was sent when the server was back."""

    def late_links(self, links: Sequence[tuple[Any, Row]]) -> None:
        """Place links, by their keys, that were scored when the server was back."""

    async def back(self) -> None:
        """Send what else was kept: the server answers again."""


class Connection:
    """Calls the server for one crawl: a call gives the answer, or None and a counter.

    After an outage no call is made but a probe, every 1 to 5 s and beside the crawl: `GetCrawl`, and if that
    is answered the oldest page that was not. When both are answered, calls are made again, and the pages that
    were fetched meanwhile are sent, beside the crawl too. A server that lost the crawl gets it again.

    Parameters
    ----------
    target
        `host:port` of the server.
    crawl
        Id of the crawl.
    adapter
        Who makes the calls.
    config
        What the crawl is created with.
    count
        Is told what is counted, for people to look at.
    encoding
        How priorities of links are wanted.
    sleep
        Waits; tests wait otherwise.
    client
        Options of `AsyncClient`: `tls`, `token`, `token_file`, `timeout_s`.

    Attributes
    ----------
    away
        Whether the server is out.
    counts
        Everything counted.
    outlook
        How links are ordered meanwhile.
    best
        The best bucket and its value, as the server said last.

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
        adapter: Adapter,
        config: CrawlOptions,
        count: Callable[[str, int], None] = lambda name, by: None,
        encoding: int = common_pb2.PRIORITY_ENCODING_UNSPECIFIED,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        **client: Any,
    ) -> None:
        if problem := target_problem(target):
            raise ValueError(problem)
        self.away = False
        self.counts: Counter[str] = Counter()
        self.outlook = Outlook()
        self.buffer = PageBuffer()
        self.best: tuple[str, float] | None = None
        self._refused = 0
        self._away_since = 0.0
        self._target, self._options, self._crawl, self._config = target, client, crawl, config
        self._adapter, self._tell, self._encoding, self._sleep = adapter, count, encoding, sleep
        self._client: AsyncClient | None = None
        self._created: asyncio.Future[Any] | None = None
        self._beside: set[asyncio.Task[Any]] = set()
        self._minutes: asyncio.Task[None] | None = None
        self._logged: set[str] = set()
        self._introduced = False

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counter, here and where people look."""
        if by:
            self.counts[name] += by
            self._tell(name, by)

    # Calls

    async def call(self, make: Callable[[AsyncClient], Awaitable[T]]) -> T | None:
        """Make a call; on any error count it and give None, so that the crawl goes on."""
        if self.away:
            return None
        try:
            return await self._attempt(make)
        except LinkscoreError as error:
            self._failed(error)
        except Exception as error:
            self._broke(error)
        return None

    def _broke(self, error: Exception) -> None:
        self.count("errors/CLIENT")
        if self._register(repr(error)):
            logger.error("linkscore: a call failed in the client", exc_info=error)

    async def ingest(self, owed: OwedPage) -> scoring_pb2.PageResult | None:
        """Send a page; None if there is no answer, and then it is sent when the server is back."""
        answer = await self.call(lambda client: self._ingest(client, owed))
        if answer is None and self.away:
            self.buffer.add(owed)
        elif answer is None or answer.status.code == common_pb2.ITEM_CODE_INVALID:
            self._refused += 1
        return answer

    @property
    def unknown(self) -> int:
        """Count the pages that the server does not know: those that wait for it, and those it never gets."""
        return len(self.buffer) + self.buffer.dropped + self._refused

    @property
    def uncounted(self) -> int:
        """Count the pages that the server will not know soon: all, once it is away for `PATIENCE_S`."""
        is_long = self.away and time.monotonic() - self._away_since >= PATIENCE_S
        return self.unknown if is_long else self.buffer.dropped + self._refused

    async def _ingest(self, client: AsyncClient, owed: OwedPage) -> scoring_pb2.PageResult:
        assert owed.page is not None
        answer = await client.ingest_pages(crawl=self._crawl, pages=[owed.page], encoding=self._encoding)
        return answer.results[0]

    async def _attempt(self, make: Callable[[AsyncClient], Awaitable[T]]) -> T:
        """Make a call, and again as often as the server says that the quota of the token allows it later."""
        while True:
            try:
                return await self._made(make)
            except ResourceExhausted as error:
                if error.reason != QUOTA_EXCEEDED:
                    raise
                self.count("quota/waits")
                await self._sleep(error.retry_after_s or PROBE_FIRST_S)

    async def _made(self, make: Callable[[AsyncClient], Awaitable[T]]) -> T:
        client = await self.connected()
        try:
            return await make(client)
        except NotFound:  # the server lost the crawl: give it to it again
            self._created = None
            return await make(await self.connected())

    async def connected(self) -> AsyncClient:
        """Give the client once the crawl is there.

        Raises
        ------
        LinkscoreError
            It is not, and cannot be created.
        """
        if self._client is None:
            self._client = AsyncClient(self._target, **self._options)
            self._minutes = asyncio.get_running_loop().create_task(self._tell_each_minute())
        if self._created is None:
            self._created = asyncio.ensure_future(
                self._client.ensure_crawl(crawl=self._crawl, **self._config)
            )
            self._created.add_done_callback(_heard)  # whoever waits may be gone by then
        created = self._created
        try:
            await self._introduce(self._client, await asyncio.shield(created))
        except LinkscoreError:
            if self._created is created:
                self._created = None
            raise
        return self._client

    async def greet(self) -> None:
        """Create the crawl, and say where; without an answer the probes begin."""

        async def nothing(client: AsyncClient) -> None:
            """Ask for no more."""

        await self.call(nothing)

    # Outages

    def _failed(self, error: LinkscoreError) -> None:
        self.count(f"errors/{error.code.name}")
        if is_outage(error):
            self._leave(error)
        elif self._register(str(error)):
            logger.error("linkscore refused a call: %s: %s", error.code.name, error)

    def _register(self, message: str) -> bool:
        """Remember a message that is to be logged; false if it was before, or if there are too many."""
        is_new = message not in self._logged and len(self._logged) < _MAX_LOGGED
        if is_new:
            self._logged.add(message)
        return is_new

    def _leave(self, error: LinkscoreError) -> None:
        if self.away:
            return
        self.away = self.outlook.away = True
        self._away_since = time.monotonic()
        what = "the server's disk is full" if error.reason == "DISK_FULL" else "no answer"
        logger.warning(
            "linkscore: %s (%s): new links wait where links like them were last found, others in the "
            "crawler's own order",
            what,
            error,
        )
        self._start(self._wait_for_server(error.retry_after_s or 0.0))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def _wait_for_server(self, retry_after_s: float) -> None:
        """Probe until the server is back; then send it what it missed."""
        began, pause = time.monotonic(), PROBE_FIRST_S
        wait = min(PROBE_LONGEST_S, max(pause, retry_after_s))
        while True:
            await self._sleep(wait)
            if await self._answers():
                break
            wait = pause = min(PROBE_LONGEST_S, 2 * pause)
        self.away = self.outlook.away = False
        logger.info(
            "linkscore answers again after %.0f s: %d pages are sent now",
            time.monotonic() - began,
            len(self.buffer),
        )
        await self._catch_up()

    async def _answers(self) -> bool:
        """Ask whether the server is there, by a cheap call, and takes pages in."""
        try:
            await self._probe()
        except LinkscoreError as error:
            self.count(f"errors/{error.code.name}")
            return not is_outage(error)
        except Exception as error:  # no token file, say: the next probe may find one
            self._broke(error)
            return False
        owed = self.buffer.oldest
        if owed is None:
            return True
        try:
            await self._send(owed)
        except LinkscoreError as error:
            self.count(f"errors/{error.code.name}")
            self._not_taken(owed, error)
            return not is_outage(error)
        except Exception as error:
            self._broke(error)
            self.buffer.drop(owed)
        return True

    async def _probe(self) -> None:
        if self._created is None or self._client is None:
            await self.connected()
            return
        try:
            await self._client.get_crawl(crawl=self._crawl, timeout_s=PROBE_TIMEOUT_S)
        except NotFound:
            self._created = None
            await self.connected()

    async def _send(self, owed: OwedPage) -> None:
        result = await self._attempt(lambda client: self._ingest(client, owed))
        self.buffer.done(owed)
        self.count("late/pages")
        self._adapter.late_page(owed, result)

    def _not_taken(self, owed: OwedPage, error: LinkscoreError) -> None:
        """Drop a page that is refused, or that keeps a server that answers from answering."""
        if is_outage(error):
            about_page = error.code != grpc.StatusCode.UNAVAILABLE and error.reason not in _NOT_THE_PAGE
            owed.tries += about_page
            if owed.tries < MAX_TRIES:
                return
        self.buffer.drop(owed)

    async def _catch_up(self) -> None:
        """Send the pages that were fetched meanwhile, score the links of those that were not kept."""
        while not self.away and (owed := self.buffer.oldest) is not None:
            try:
                await self._send(owed)
            except LinkscoreError as error:
                self._failed(error)
                self._not_taken(owed, error)
            except Exception as error:
                self._broke(error)
                self.buffer.drop(owed)
        while not self.away and (links := self.buffer.bare_links(_SLICE)):
            await self._score(links)
        if not self.away:
            await self._adapter.back()

    async def _score(self, links: list[tuple[str, Any]]) -> None:
        urls = [url for url, _ in links]
        answer = await self.call(
            lambda client: client.score_links(crawl=self._crawl, links=urls, encoding=self._encoding)
        )
        if answer is not None:
            found = [(links[row.index][1], row) for row in rows(answer.links) if row.usable]
            self._adapter.late_links(found)

    # What is said

    async def _introduce(self, client: AsyncClient, crawl: crawl_pb2.Crawl) -> None:
        if self._introduced:
            return
        self._introduced = True
        try:
            version = await client.get_server_version(crawl=self._crawl, timeout_s=PROBE_TIMEOUT_S)
        except LinkscoreError:  # the call that follows says what is wrong
            version = ""
        policy = crawl.policy.WhichOneof("policy") or "harvest"
        logger.info(
            "linkscore %s at %s: crawl %s, policy %s",
            version or "of a version that does not say it",
            self._target,
            self._crawl,
            policy,
        )

    async def _tell_each_minute(self) -> None:
        while True:
            await asyncio.sleep(MINUTE_S)
            best = f"best bucket {self.best[0]} ({self.best[1]:.2f})" if self.best else "no bucket ranked"
            logger.info("linkscore: %s; %s", self._scored(), best)

    def _scored(self) -> str:
        scored = self.counts["scored"] + self.counts["late/scored"]
        return f"{scored} of {self.counts['scored'] + self.counts['fallback']} requests scored"

    # The end

    async def _last_try(self) -> None:
        """Send what waits if the server is back and no probe has found out yet."""
        if await self._answers():
            self.away = self.outlook.away = False
            await self._catch_up()

    def _cancel_beside(self) -> None:
        for task in self._beside:
            task.cancel()
        self._beside.clear()

    async def close(self) -> None:
        """Send what waits, within one deadline, if the server answers now; then close the connection."""
        if self._minutes is not None:
            self._minutes.cancel()
        deadline_s = self._options.get("timeout_s") or DEFAULT_TIMEOUT_S
        if self.away:
            self._cancel_beside()
            if len(self.buffer):
                self._start(self._last_try())
        if self._beside:
            await asyncio.wait(self._beside, timeout=deadline_s)
        self._cancel_beside()
        if self._client is not None:
            lost = f"; {len(self.buffer)} pages were never sent" if len(self.buffer) else ""
            logger.info("linkscore: %s%s", self._scored(), lost)
            await self._client.close()
            self._client = None


def _heard(future: asyncio.Future[Any]) -> None:
    """Take the error of a future, so that asyncio does not log it as nobody's."""
    if not future.cancelled():
        future.exception()
