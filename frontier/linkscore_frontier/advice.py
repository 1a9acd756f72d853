"""Asks linkscore: what buckets are worth, where new URLs belong; and tells it which fetches failed.

Nothing waits for it for long. While linkscore is away the stores go on by what they know (see `CrawlStore`),
and a cheap call beside the crawl looks whether it is back; what was missed is made up for then.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from linkscore import AsyncClient, failed_page, rows, ticket_bytes, ticket_text
from linkscore.errors import LinkscoreError, NotFound
from linkscore.messages import is_dropped
from linkscore.outages import CircuitBreaker
from linkscore.v1 import common_pb2
from linkscore_frontier import urlfrontier_pb2 as pb
from linkscore_frontier.crawls import DEFAULT_CRAWL, Crawls
from linkscore_frontier.metrics import FrontierMetrics
from linkscore_frontier.records import Failure, Place, Question
from linkscore_frontier.store import CrawlStore

_log = logging.getLogger(__name__)
T = TypeVar("T")

BUCKET, SCORE, VALUE, TICKET = "linkscore.bucket", "linkscore.score", "linkscore.value", "linkscore.ticket"
"""Metadata of a link that linkscore scored; docs/reference/clients.md says what they are."""

NEXT = "linkscore.next"
"""Metadata of a fetched URL: when to fetch it again, in seconds since 1970: `PageResult.next_fetch_time`."""

STATUS = "fetch.statusCode"
"""Metadata in which StormCrawler keeps the HTTP status of a fetch."""

# URLs of one ScoreLinks call: other calls are answered in between. Chosen.
_BATCH = 500
# Pages of one IngestPages call that reports failures: below the server's `max_pages_per_call` of 500.
_FAILURES = 200
# Longest name of a bucket: all are kept in memory. Those of linkscore have some twenty characters; a bound.
_MAX_BUCKET_CHARS = 256
# Deadline of the call that looks whether linkscore is back, and the longest pause between two.
_PROBE_S, _PROBE_LONGEST_S = 1.0, 5.0
# Longest pause after calls that were refused, which waiting may not mend.
_REFUSED_LONGEST_S = 60.0
# Seconds between two looks for work: new URLs wait that long, at most, in the order they came. Chosen.
_PAUSE_S = 0.1


class Advisor:
    """One connection to linkscore for all crawls of a frontier.

    Parameters
    ----------
    client
        The connection.
    crawls
        The frontier.
    metrics
        Counters.
    crawl
        Crawl of linkscore that all crawls of the frontier belong to; empty: each has one of its own name.
    timeout_s
        Longest wait of GetURLs for the order of buckets.
    """

    def __init__(
        self,
        client: AsyncClient,
        crawls: Crawls,
        metrics: FrontierMetrics,
        *,
        crawl: str = "",
        timeout_s: float = 1.0,
    ) -> None:
        self._client = client
        self._crawls = crawls
        self._metrics = metrics
        self._crawl = crawl
        self._timeout_s = timeout_s
        self._breaker = CircuitBreaker(clock=time.monotonic, longest_s=_PROBE_LONGEST_S)
        self._away_since = 0.0
        self._refusals: dict[str, CircuitBreaker] = {}
        self._ranking: dict[str, asyncio.Task[None]] = {}
        self._reporting: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._work: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to score and report beside the calls."""
        self._work = asyncio.create_task(self._keep_working())

    async def close(self) -> None:
        """End all that runs beside the calls."""
        for task in (self._work, *self._ranking.values()):
            if task is not None:
                task.cancel()
        await self._client.close()

    def name_of(self, crawl: str) -> str:
        """Return the crawl of linkscore that a crawl of the frontier belongs to."""
        return self._crawl or linkscore_name(crawl)

    async def rank(self, crawl: str, ask: Callable[[CrawlStore], Question | None]) -> None:
        """Bring the order of a crawl's buckets up to date, unless linkscore is away or takes too long.

        Parameters
        ----------
        crawl
            Its id.
        ask
            Returns the question. Who comes while one is being asked takes of what its answer hands out.
        """
        if crawl not in self._crawls:
            return
        running = self._ranking.get(crawl)
        if running is None:
            running = self._ranking[crawl] = asyncio.create_task(self._rank(crawl, ask))
            running.add_done_callback(lambda _: self._ranking.pop(crawl, None))
        await asyncio.wait([running], timeout=self._timeout_s)

    async def _rank(self, crawl: str, ask: Callable[[CrawlStore], Question | None]) -> None:
        # A fetch that failed is under way no longer: the order is asked for when linkscore knows of it, or
        # the next link goes out of the bucket that just failed.
        await self._report(crawl)
        question = await self._crawls.ask(crawl, ask)
        if question is None:
            return
        answer = await self._call(
            crawl,
            lambda client, name: client.rank_buckets(
                crawl=name,
                buckets=question.waiting,
                n=question.places,
                in_flight=question.under_way,
                fill=question.fill,
                timeout_s=self._timeout_s,
            ),
        )
        self._metrics.ranked.inc(answer is not None)
        await self._crawls.ask(crawl, lambda store: store.answered(question, answer))

    async def _keep_working(self) -> None:
        while True:
            try:
                if self._breaker.broken:
                    await self._probe()
                busy = [] if self._breaker.broken else self._crawls.busy()
                worked = [await self._work_on(crawl) for crawl in busy]
            except Exception:
                _log.exception("scoring of new URLs failed, trying again")
                worked = []
            if not any(worked):
                await asyncio.sleep(_PAUSE_S)

    async def _work_on(self, crawl: str) -> bool:
        """Score some new URLs of a crawl and report some failures; say whether there were any."""
        return await self._score(crawl) | await self._report(crawl)

    async def _score(self, crawl: str) -> bool:
        found = await self._crawls.ask(crawl, lambda store: store.unscored(_BATCH))
        if not found:
            return False
        links = [(url, _ticket(info)) for _, url, info in found]
        answer = await self._call(crawl, lambda client, name: client.score_links(crawl=name, links=links))
        if answer is None:
            return False
        placed = [
            (number, [place._replace(ticket=ticket_text(ticket)) for place in places])
            for (number, _, _), (_, ticket), places in zip(found, links, places_of(answer.links), strict=True)
        ]
        reasons = zip(found, answer.links.skip_reasons, strict=False)  # none where nothing is to skip
        dropped = [number for (number, _, _), reason in reasons if is_dropped(reason)]
        self._metrics.scored.inc(sum(bool(places) for _, places in placed))
        await self._crawls.ask(crawl, lambda store: store.place(placed, dropped))
        return True

    async def _report(self, crawl: str) -> bool:
        async with self._reporting[crawl]:
            failures = await self._unreported(crawl, _FAILURES)
            pages = [_page(failure) for failure in failures]
            if not pages or not await self._call(
                crawl, lambda client, name: client.ingest_pages(crawl=name, pages=pages)
            ):
                return False
            self._metrics.failures.inc(len(failures))
            await self._crawls.ask(crawl, lambda store: store.reported(failures))
            return True

    async def _unreported(self, crawl: str, most: int) -> list[Failure]:
        return await self._crawls.ask(crawl, lambda store: store.unreported(most)) or []

    async def _call(self, crawl: str, make: Callable[[AsyncClient, str], Awaitable[T]]) -> T | None:
        """Make a call; None if linkscore is away or refuses it."""
        refusal = self._refusals.get(crawl)
        if self._breaker.broken or (refusal is not None and not refusal.allows()):
            return None
        name = self.name_of(crawl)
        try:
            try:
                answer = await make(self._client, name)
            except NotFound:
                await self._client.ensure_crawl(crawl=name)
                answer = await make(self._client, name)
        except LinkscoreError as exc:
            self._note(crawl, exc)
            return None
        except BaseException:
            if refusal is not None:
                refusal.gave_up()
            raise
        self._refusals.pop(crawl, None)
        return answer

    async def _probe(self) -> None:
        """Look whether linkscore is back: by a cheap call, then by a failure it was not told of, if any.

        A server whose disk is full answers the first, and refuses the second.
        """
        if not self._breaker.allows():
            return
        crawl = next(iter(self._crawls.busy() or self._crawls.all()), DEFAULT_CRAWL)
        try:
            try:
                await self._client.get_crawl(crawl=self.name_of(crawl), timeout_s=_PROBE_S)
            except NotFound:
                await self._client.ensure_crawl(crawl=self.name_of(crawl))
            for failure in await self._unreported(crawl, 1):
                await self._client.ingest_pages(crawl=self.name_of(crawl), pages=[_page(failure)])
        except LinkscoreError as exc:
            if exc.is_outage:
                self._breaker.failed(min(exc.retry_after_s or 0.0, _PROBE_LONGEST_S))
                return
        except BaseException:
            self._breaker.gave_up()
            raise
        self._breaker.succeeded()
        self._metrics.away.set(0)
        waiting = self._crawls.all().values()
        _log.info(
            "linkscore answers again after %.0f s: %d URLs are scored and %d failed fetches reported now",
            *(time.monotonic() - self._away_since, sum(each.new for each in waiting)),
            sum(each.failures for each in waiting),
        )

    def _note(self, crawl: str, error: LinkscoreError) -> None:
        self._metrics.errors.labels(error.code.name).inc()
        if not error.is_outage:  # refused again at once: one crawl waits, longer each time
            refusal = self._refusals.get(crawl)
            if refusal is None:
                _log.warning("linkscore refuses calls of crawl %s: %s", crawl, error)
                refusal = self._refusals[crawl] = CircuitBreaker(
                    clock=time.monotonic, longest_s=_REFUSED_LONGEST_S
                )
            refusal.failed(error.retry_after_s)
            return
        if not self._breaker.broken:
            _log.warning(
                "linkscore does not answer (%s): URLs go on by what URLs like them were last worth", error
            )
            self._away_since = time.monotonic()
        self._breaker.failed(min(error.retry_after_s or 0.0, _PROBE_LONGEST_S))
        self._metrics.away.set(1)


def linkscore_name(crawl: str) -> str:
    """Return the id of linkscore's crawl for one of the frontier.

    >>> linkscore_name("DEFAULT"), linkscore_name("News 2026")
    ('default', 'news-2026')
    """
    return re.sub(r"[^a-z0-9_-]", "-", crawl.lower())[:64]


def places_of(links: common_pb2.LinkScores) -> Iterable[list[Place]]:
    """Give the places of each link of an answer; none of one that could not be scored."""
    values = dict(zip(links.bucket_names, links.bucket_values, strict=False))
    for row in rows(links):
        usable = row.usable and row.bucket
        value = values.get(row.bucket, row.score)
        yield [Place(row.bucket, row.score, value, ticket_text(row.ticket))] if usable else []


def places_in(metadata: dict[str, list[str]]) -> list[Place] | None:
    """Return the places that metadata name: None without a bucket, none if linkscore knew nothing of it.

    Numbers that cannot be read count as the worst.

    >>> places_in({"linkscore.bucket": ["a/h1.x"], "linkscore.score": ["0.7"], "linkscore.value": ["0.5"]})
    [Place(bucket='a/h1.x', score=0.7, value=0.5, ticket='')]
    """
    names = metadata.get(BUCKET)
    if names is None:
        return None
    scores, values, tickets = (metadata.get(key, []) for key in (SCORE, VALUE, TICKET))
    found = []
    for i, name in enumerate(names):
        score = _number(scores[i]) if i < len(scores) else 0.0
        value = _number(values[i]) if i < len(values) else score
        found.append(Place(name, score, value, tickets[i] if i < len(tickets) else ""))
    return [place for place in found if 0 < len(place.bucket) <= _MAX_BUCKET_CHARS]


def ticket_in(metadata: dict[str, list[str]]) -> bytes:
    """Return the ticket that metadata hold; empty if there is none that can be read."""
    try:
        return ticket_bytes(next(iter(metadata.get(TICKET, ())), ""))
    except ValueError:
        return b""


def _ticket(info: bytes) -> bytes:
    metadata = pb.URLInfo.FromString(info).metadata
    return ticket_in({TICKET: list(metadata[TICKET].values)} if TICKET in metadata else {})


def _page(failure: Failure) -> common_pb2.Page:
    return failed_page(
        url=failure.url,
        status_code=failure.status,
        ticket=failure.ticket,
        event_id=failure.event,
    )


def _number(text: str) -> float:
    try:
        return min(1.0, max(0.0, float(text)))
    except ValueError:
        return 0.0
