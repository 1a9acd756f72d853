"""One crawl: pages out, links in order, failures and worth reported; nothing stops it once it has begun."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import grpc

from linkscore._channel import (
    DEFAULT_TIMEOUT_S,
    file_problem,
    target_problem,
    timeout_problem,
    tls_problem,
    token_problem,
)
from linkscore.aio import AsyncClient
from linkscore.errors import LinkscoreError, NotFound, raise_if_invalid
from linkscore.frontier import Frontier, Item, Place
from linkscore.messages import (
    FIRST_FAILURE,
    CrawlOptions,
    Link,
    failed_page,
    feedback,
    is_dropped,
    option_problem,
    page,
    rows,
)
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

logger = logging.getLogger("linkscore")
# gRPC writes a traceback for each answer that is no message; what is said of it here is a line.
logging.getLogger("grpc._common").addFilter(lambda record: "linkscore.v1." not in str(record.exc_info))

T = TypeVar("T")

PROBE_FIRST_S, PROBE_LONGEST_S = 1.0, 5.0
"""Pause before the first probe of an outage, which doubles, and its bound; chosen: a probe costs nothing."""

PROBE_TIMEOUT_S = 1.0  # for the cheap call that asks whether the server is back; it takes milliseconds

PATIENCE_S = 60.0
"""Absence after which a crawl ends that only waits for the server: it is back in seconds if it starts again;
chosen, not measured."""

MINUTE_S = 60.0  # between two lines that say how it goes

MAX_BUFFER_BYTES = 64 * 1024 * 1024
"""Bytes of pages that wait for the server; a bound, chosen."""

MAX_TRIES = 3
"""How often a page is sent to a server that answers other calls and not this one; chosen."""

MAX_BODY_BYTES = 8 * 1024 * 1024
"""Longer bodies are cut: what follows was never seen to matter, and it would hit the message limit."""

NOT_MODIFIED = 304  # RFC 9110, section 15.4.5

CLIENT_OPTIONS = ("tls", "token", "token_file", "timeout_s", "channel_options")
"""Of `AsyncClient`, beside the target."""

_MAX_RANKED = 100_000  # buckets of one call: what the server takes
_MAX_LOGGED = 20  # a bound, chosen: messages of refused calls that are logged; the counters count them all
_MAX_UNSAID, _UNSAID_A_CALL = 20_000, 1_000  # what pages were worth: kept, a bound, and of a call (of 5,000)
# A field of a crawl, and what is in it: an entry, or a field of its own.
_OF_A_FIELD = re.compile(r"(\w*)\.?(.*)", re.DOTALL)
# RESOURCE_EXHAUSTED for these reasons says nothing about the page that was sent.
_NOT_THE_PAGE = ("DISK_FULL", "OVERLOADED")
_WHO = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
# What only another configuration mends: such a crawl does not begin.
_REFUSALS = (
    *_WHO,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
)


def near(name: str, known: Iterable[str]) -> str:
    """Name what was probably meant.

    >>> near("tokn", CLIENT_OPTIONS)
    ', did you mean token?'
    """
    found = get_close_matches(name, known, n=1, cutoff=0.83)
    return f", did you mean {found[0]}?" if found else ""


def option_problems(target: str, crawl: Mapping[str, Any], client: Mapping[str, Any]) -> dict[str, str]:
    """Give the options that cannot be, and why, before anything is asked."""
    tls, token, token_file = (client.get(name) for name in ("tls", "token", "token_file"))
    known = (*CLIENT_OPTIONS, *CrawlOptions.__annotations__)
    found = {
        "target": target_problem(target),
        **{name: "no such option" + near(name, known) for name in client if name not in CLIENT_OPTIONS},
        **{name: option_problem(name, given) for name, given in crawl.items()},
        "token": token_problem(token),
        "tls": "" if not tls or isinstance(tls, bool | grpc.ChannelCredentials) else file_problem("tls", tls),
        "token_file": file_problem("token_file", token_file, token) if token_file else "",
        "timeout_s": timeout_problem(client.get("timeout_s", DEFAULT_TIMEOUT_S)),
    }
    return {name: problem for name, problem in found.items() if problem}


def start_problem(error: LinkscoreError, target: str, tls: Any, setting: Callable[[str], str] = str) -> str:
    """Say which settings keep a crawl from beginning, by the names the user typed; empty if none does.

    `setting` writes the name of an option of the client or of the crawl as the user does.
    """
    if problem := tls_problem(error, target, tls):
        return f"{setting('tls')}: {problem}"
    if error.code not in _REFUSALS or error.is_outage:
        return ""
    if error.code in _WHO:
        return f"{setting('token')}: {error}"
    if error.code == grpc.StatusCode.UNIMPLEMENTED:
        return f"{setting('target')}: no linkscore server at {target} ({error})"
    said = []
    for each in error.field_violations:
        name, rest = _OF_A_FIELD.fullmatch(each.field.removeprefix("crawl.")).groups()  # type: ignore[union-attr]
        option = setting("crawl" if name == "name" else name)
        said.append(f"{option}: {rest}{' ' if rest else ''}{each.description}")
    return "; ".join(said) or f"{setting('crawl')}: {error}"


class Found(NamedTuple):
    """A link as the crawler found it: its absolute URL, and the text of its anchor if that is known.

    `key` is what it waits by, its URL if None, and `value` what the caller keeps with it. One that the
    crawler does not `follow` is sent, and does not wait.
    """

    url: str
    text: str = ""
    key: Any = None
    value: Any = None
    follow: bool = True


@dataclass(slots=True, eq=False)
class OwedPage:
    """A page to send, and of its links that wait what their late answer is found by.

    `tries` is how often it was sent in vain to a server that answered other calls.
    """

    page: common_pb2.Page
    links: list[tuple[Any, Any]] = field(default_factory=list)
    tries: int = 0


class CrawlSession:
    """What adapters share: an order kept by a `Frontier`, and calls that never stop the crawl once it began.

    While the server is away no call is made but a probe, every 1 to 5 s and beside the crawl: `GetCrawl`, and
    if that is answered the oldest page that was not. Links wait meanwhile where links of their shape were
    last found, and values of buckets fade with what is taken from them. When both are answered, the pages
    fetched meanwhile are sent, beside the crawl too. A server that lost the crawl gets it again.

    Parameters
    ----------
    target
        `host:port` of the server.
    crawl
        Id of the crawl; two runs of one id share what was learned.
    tell
        Hears what is added to `counts`.
    options
        Fields of `CrawlOptions`: `policy` that scores, what is `wanted` in words, `examples` of the pages
        wanted, how far it may go by a `budget`, uses to `respect`; and those of `AsyncClient`: `tls`,
        `token`, `timeout_s`.

    Attributes
    ----------
    frontier
        What waits.
    counts
        `pages` and `failed` fetches the server took, `feedback`; links `scored`, `missed` (the server did not
        know them) and `fallback` (found while it was away), of these `guessed`; `ranked` answers;
        `skipped` when they were asked about again before the fetch;
        `late/pages` sent and `late/scored` links placed when it was back; `errors/CODE`.

    Raises
    ------
    ValueError
        An option cannot be what is given, which the message names.
    """

    sleep: Callable[[float], Awaitable[Any]] = staticmethod(asyncio.sleep)
    """Waits between two probes."""

    def __init__(
        self,
        target: str,
        *,
        crawl: str,
        tell: Callable[[str, int], None] = lambda name, by: None,
        **options: Any,
    ) -> None:
        config = {name: options.pop(name) for name in [*options] if name in CrawlOptions.__annotations__}
        if problems := option_problems(target, config, options):
            raise ValueError("; ".join(f"{name}: {problem}" for name, problem in problems.items()))
        self.crawl = crawl
        self.counts: Counter[str] = Counter()
        self.frontier = frontier = Frontier(config.get("budget"))
        self.allotment, self.outlook, self.allowance = (
            frontier.allotment,
            frontier.outlook,
            frontier.allowance,
        )
        self._best = ("", 0.0)  # the best bucket, and what it is worth
        self._target, self._config, self._options, self._tell = target, config, options, tell
        self._client: AsyncClient | None = None
        self._created: asyncio.Future[Any] | None = None
        self._greeting: asyncio.Task[None] | None = None
        self._minutes: asyncio.Task[None] | None = None
        self._probing: asyncio.Task[None] | None = None
        self._beside: set[asyncio.Task[Any]] = set()
        self._turn = asyncio.Lock()
        self._owed: dict[OwedPage, int] = {}  # pages that wait for the server, oldest first, and their bytes
        self._lost = 0  # pages that it never gets
        self._unsaid: dict[str, scoring_pb2.Feedback] = {}
        self._away_since = 0.0
        self._logged: set[str] = set()
        self._introduced = self._is_news = False
        self._started: set[Any] = set()

    @property
    def away(self) -> bool:
        """Whether the server is out."""
        return self.outlook.away

    def count(self, name: str, by: int = 1) -> None:
        """Add to a counter, here and where people look."""
        if by:
            self.counts[name] += by
            self._tell(name, by)

    # What a crawler does

    async def start(self) -> None:
        """Create the crawl, once; `fetched` and `take` do so too. A server that is away does not matter.

        Raises
        ------
        ValueError
            The server refuses what was set, which the message names: the crawl is not to begin.
        """
        if self._greeting is None:
            self._greeting = asyncio.ensure_future(self._greet())
        await asyncio.shield(self._greeting)

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
    ) -> None:
        """Send a page with all of its links, and let those wait that are to be followed and were not taken.

        Links that the server does not know wait behind all others. While it is away they wait by a guess, and
        where they belong when it is back.
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
        self.outlook.fetched(url, is_page=status_code < FIRST_FAILURE)
        result = await self.ingest(owed)
        # Without links to send the answer has those the server found, which the crawler does not follow; it
        # is cut at the server's bound.
        places = {} if result is None else _places(result)
        scored = sum(index in places for index in range(len(links)))
        self.count("pages", result is not None)
        self.count("scored", scored)
        self.count("fallback" if result is None else "missed", len(links) - scored)
        for index, link in enumerate(links):
            key = link.url if link.key is None else link.key
            if link.follow and key not in self._started:
                owed.links.append((key, index))
                self._wait(link, key, places.get(index), may_guess=result is None and self.away)

    def _wait(self, link: Found, key: Any, place: Place | None, *, may_guess: bool) -> None:
        guess = self.outlook.guess(link.url) if may_guess and key not in self.frontier else None
        if place is not None:
            if key not in self.frontier:  # from where others were found now nothing is taken
                self.outlook.placed(link.url, place.bucket, place.value)
            self.frontier.add(key, [place], link.value)
        elif guess is not None:
            self.count("guessed")
            self.frontier.add_guess(key, *guess, link.value)
        else:
            self.frontier.add_unknown(key, link.value)

    def late(self, owed: OwedPage, result: scoring_pb2.PageResult) -> None:
        """Place the links of a page that was sent when the server was back."""
        self._is_news = True
        places = _places(result)
        for key, index in owed.links:
            if index in places and key in self.frontier:
                self.frontier.add(key, [places[index]])
                self.count("late/scored")

    async def failed(
        self, url: str, *, status_code: int = 0, fetch_error: str = "", ticket: bytes = b""
    ) -> None:
        """Report a fetch that brought no page, as the page is as it was (304) or the fetch failed."""
        if status_code == NOT_MODIFIED:
            sent = page(url=url, not_modified=True, ticket=ticket)
        else:
            error = fetch_error if status_code >= FIRST_FAILURE else fetch_error or "unknown"
            sent = failed_page(url=url, status_code=status_code, fetch_error=error, ticket=ticket)
        self.outlook.fetched(url, is_page=False)
        if await self.ingest(OwedPage(sent)) is not None:
            self.count("failed")

    async def reward(self, url: str, worth: float, *, ticket: bytes = b"") -> None:
        """Say what a page was worth, in [0, 1]; while the server is away it is kept."""
        self.owe_feedback(feedback(url=url, reward=worth, ticket=ticket))
        await self.send_feedback()

    async def take(self) -> Item | None:
        """Take the best URL, in the order of now.

        None if none waits, or if none should be fetched before the next answer (`frontier.held`). Call `done`
        when a URL that was taken is answered: what is under way counts when the next is chosen. Callers take
        turns: each knows what those before it took. None too when the budget allows no more (`stopped`).
        """
        await self.start()
        async with self._turn:
            if self._is_news or not self.frontier.held:  # while places are empty only after an answer
                self._is_news = not await self.rank()
            while not self._is_full and (item := self.frontier.take()) is not None:
                may_be_dropped = self.allowance.asks_again and item.ticket
                try:
                    is_gone = may_be_dropped and await self.is_to_skip(item.url, item.ticket)
                except asyncio.CancelledError:  # it waits again, for who calls next
                    self.frontier.put_back(item)
                    raise
                if not is_gone:
                    self._started.add(item.url)
                    return item
                self.frontier.done(item)
                self.count("skipped")
            return None

    def knows(self, key: Any) -> bool:
        """Say whether a URL waits or was taken."""
        return key in self._started or key in self.frontier

    def done(self, item: Item) -> None:
        """Note that the server knows what came of a URL that was taken, or never will."""
        self._is_news = True
        self.frontier.done(item)

    def clear(self) -> None:
        """Forget what waits and what was taken."""
        self.frontier.clear()
        self._started.clear()

    @property
    def _is_full(self) -> bool:
        """Whether the budget allows no fetch beside those that the server has not answered."""
        self.allowance.without_answer(self.uncounted)
        return self.frontier.ended or self.allowance.is_full(self.frontier.taken + self.unknown)

    @property
    def stopped(self) -> str:
        """Why the crawl has stopped, ``linkscore_budget`` for example; empty while it goes on.

        ``linkscore_away`` while the server is away and pages that it does not know may be all that was left.
        """
        if self.frontier.ended:
            return self.allowance.reason
        return "linkscore_away" if self.away and not self.frontier.taken and self._is_full else ""

    # Calls: one gives the answer, or None and a counter

    async def call(self, make: Callable[[AsyncClient], Awaitable[T]]) -> T | None:
        """Make a call; on any error count it and give None, so that the crawl goes on."""
        if self.away:
            return None
        try:
            return await self._attempt(make)
        except Exception as error:
            self.met(error)
        return None

    async def ingest(self, owed: OwedPage) -> scoring_pb2.PageResult | None:
        """Send a page; None if it is not taken, and if the server is away it is sent when it is back."""
        result = await self.call(partial(self._ingest, owed))
        if result is not None:
            self.allowance.take(result)
        elif self.away:
            self._owed[owed] = owed.page.ByteSize()
            while sum(self._owed.values()) > MAX_BUFFER_BYTES:
                self._lose(next(iter(self._owed)))
        else:
            self._lost += 1
        return result

    async def score(self, links: Iterable[Link]) -> common_pb2.LinkScores | None:
        """Score links by their URLs alone, or by the tickets that they were found with."""
        answer = await self.call(partial(AsyncClient.score_links, crawl=self.crawl, links=links))
        return None if answer is None else answer.links

    async def is_to_skip(self, url: str, ticket: bytes) -> bool:
        """Say whether a link is dropped by a setting of the crawl by now; without an answer it is not."""
        scores = await self.score([(url, ticket)])
        return scores is not None and any(map(is_dropped, scores.skip_reasons))

    async def rank(self, n: int = 1, arrived: Mapping[str, int] | None = None) -> dict[str, float]:
        """Ask which of the buckets come next that links wait in; gives their values.

        `n` links may be taken before the next answer; `arrived` counts links that wait in a moment.
        """
        waiting = dict(islice((Counter(self.frontier.waiting) + Counter(arrived or {})).items(), _MAX_RANKED))
        if not waiting:
            return {}
        under_way = self.frontier.under_way
        self.allotment.asked()
        answer = await self.call(
            lambda client: client.rank_buckets(crawl=self.crawl, buckets=waiting, n=n, in_flight=under_way)
        )
        if answer is None:
            self.allotment.lift()
            return {}
        self.count("ranked")
        values = self.allotment.read(answer, waiting=waiting, n=n)
        self._best = next(iter(values.items()), ("", 0.0))
        self.frontier.values.update(values)
        return values

    def owe_feedback(self, event: scoring_pb2.Feedback) -> None:
        """Keep what a page was worth until it is sent; of events of one id the last counts."""
        self._unsaid[event.event_id] = event
        if len(self._unsaid) > _MAX_UNSAID:
            del self._unsaid[next(iter(self._unsaid))]

    async def send_feedback(self) -> None:
        """Say what pages were worth; while the server is away it is kept."""
        while self._unsaid and not self.away:
            events = {event_id: self._unsaid.pop(event_id) for event_id in [*self._unsaid][:_UNSAID_A_CALL]}
            report = partial(AsyncClient.report_feedback, crawl=self.crawl, feedback=events.values())
            try:
                told = await self.call(report)
            except asyncio.CancelledError:  # nobody knows whether they were told
                self._unsaid = events | self._unsaid
                raise
            self.count("feedback", len(events) * (told is not None))
            if told is None and self.away:
                self._unsaid = events | self._unsaid

    @property
    def unknown(self) -> int:
        """Count the pages that the server does not know: those that wait for it, and those it never gets."""
        return len(self._owed) + self._lost

    @property
    def uncounted(self) -> int:
        """Count the pages that the server will not know soon: all, once it is away for `PATIENCE_S`."""
        is_long = self.away and time.monotonic() - self._away_since >= PATIENCE_S
        return self.unknown if is_long else self._lost

    async def _ingest(self, owed: OwedPage, client: AsyncClient) -> scoring_pb2.PageResult:
        answer = await client.ingest_pages(crawl=self.crawl, pages=[owed.page])
        raise_if_invalid(answer.results[0].status)
        return answer.results[0]

    async def _attempt(self, make: Callable[[AsyncClient], Awaitable[T]]) -> T:
        client = await self._connected()
        try:
            return await make(client)
        except NotFound:  # the server lost the crawl: give it to it again
            self._created = None
            return await make(await self._connected())

    async def _connected(self) -> AsyncClient:
        """Give the client once the crawl is there."""
        if self._client is None:
            self._client = AsyncClient(self._target, **self._options)
            self._minutes = asyncio.ensure_future(self._tell_each_minute())
        if self._created is None:
            self._created = asyncio.ensure_future(self._make(self._client))
            self._created.add_done_callback(self._made)
        await asyncio.shield(self._created)
        return self._client

    def _made(self, created: asyncio.Future[Any]) -> None:
        """After any error let the next call try again; whoever waited may be gone by then."""
        if created.cancelled() or created.exception():
            self._created = None

    async def _make(self, client: AsyncClient) -> None:
        """Create the crawl, and say once where it is scored."""
        crawl = await client.ensure_crawl(crawl=self.crawl, **self._config)
        if self._introduced:
            return
        version = await client.get_server_version(crawl=self.crawl)
        self._introduced = True
        policy = crawl.policy.WhichOneof("policy") or "harvest"
        logger.info("linkscore %s at %s: crawl %s, policy %s", version, self._target, self.crawl, policy)
        if crawl.page_count:
            logger.info(
                "linkscore: crawl %s has %d pages of earlier runs and goes on from what they taught; "
                "a crawl of another name begins anew",
                self.crawl,
                crawl.page_count,
            )

    async def _greet(self) -> None:
        """Create the crawl, and say where; without an answer the probes begin."""
        try:
            await self._connected()
        except Exception as error:  # no token file, say
            if isinstance(error, LinkscoreError):
                tls = self._options.get("tls", False)
                if problem := await asyncio.to_thread(start_problem, error, self._target, tls):
                    raise ValueError(problem) from error
            self.met(error)

    # Outages

    def met(self, error: Exception) -> None:
        """Count what went wrong, say it once, and begin to wait for a server that is away."""
        ours = error if isinstance(error, LinkscoreError) else None
        name = ours.code.name if ours else "CLIENT"
        self.count(f"errors/{name}")
        if ours and ours.is_outage:
            if not self.away:
                self._leave(ours)
        elif (said := str(ours or repr(error))) not in self._logged and len(self._logged) < _MAX_LOGGED:
            self._logged.add(said)
            trace = None if ours else error
            logger.error("linkscore: a call failed, the crawl goes on: %s: %s", name, said, exc_info=trace)

    def _leave(self, error: LinkscoreError) -> None:
        self.outlook.turn(away=True)
        self._away_since = time.monotonic()
        what = "the server's disk is full" if error.reason == "DISK_FULL" else "no answer"
        logger.warning(
            "linkscore: %s (%s): new links wait where links like them were last found, others in the "
            "crawler's own order",
            what,
            error,
        )
        self._probing = self.beside(self._wait_for_server(error.retry_after_s or 0.0))

    def beside(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something beside the crawl; `close` waits for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        return task

    async def _wait_for_server(self, retry_after_s: float) -> None:
        """Probe until the server is back; then send it what it missed."""
        wait = min(PROBE_LONGEST_S, max(PROBE_FIRST_S, retry_after_s))
        await self.sleep(wait)
        while not await self._answers():
            wait = min(PROBE_LONGEST_S, 2 * wait)
            await self.sleep(wait)
        logger.info(
            "linkscore answers again after %.0f s: %d pages are sent now",
            time.monotonic() - self._away_since,
            len(self._owed),
        )
        await self._catch_up()

    async def _answers(self) -> bool:
        """Ask whether the server is there, by a cheap call, and takes pages in."""
        try:
            await self._attempt(lambda client: client.get_crawl(crawl=self.crawl, timeout_s=PROBE_TIMEOUT_S))
        except Exception as error:  # no token file, say: the next probe may find one
            self.met(error)
            if not isinstance(error, LinkscoreError) or error.is_outage:
                return False
        return not self._owed or await self._send(next(iter(self._owed)))

    async def _send(self, owed: OwedPage) -> bool:
        """Send a page that waited; false if the server is away.

        One that is refused, or that keeps a server that answers from answering, is dropped.
        """
        try:
            result = await self._attempt(partial(self._ingest, owed))
            self._owed.pop(owed, None)
            self.count("late/pages")
            self.allowance.take(result)
            self.late(owed, result)
        except Exception as error:
            self.met(error)
            if not isinstance(error, LinkscoreError) or not error.is_outage:
                self._lose(owed)
                return True
            owed.tries += error.code != grpc.StatusCode.UNAVAILABLE and error.reason not in _NOT_THE_PAGE
            if owed.tries >= MAX_TRIES:
                self._lose(owed)
            return False
        return True

    def _lose(self, owed: OwedPage) -> None:
        self._lost += self._owed.pop(owed, None) is not None

    async def _catch_up(self) -> None:
        """Send the pages that were fetched meanwhile."""
        self.outlook.turn(away=False)
        while self._owed and not self.away:
            await self._send(next(iter(self._owed)))
        await self.send_feedback()

    # What is said

    async def _tell_each_minute(self) -> None:
        told = 0
        while True:
            await asyncio.sleep(MINUTE_S)
            if told == (told := self.counts["scored"]):
                continue
            best, value = self._best
            said, advice = [f"best bucket {best} ({value:.2f})" if best else "no bucket ranked"], None
            if site := best.partition("/")[0]:  # what goes wrong there, as the server sees it
                advice = await self.call(partial(AsyncClient.get_site_advice, crawl=self.crawl, site=site))
            said += advice.warnings if advice is not None else ()
            logger.info("linkscore: %s; %s", self._scored(), "; ".join(said))

    def _scored(self) -> str:
        scored = self.counts["scored"] + self.counts["late/scored"]
        return f"{scored} of {self.counts['scored'] + self.counts['fallback']} requests scored"

    # The end

    async def close(self) -> None:
        """Send what waits, within two deadlines, if the server answers now; then close the connection."""
        for task in (self._minutes, self._probing if self.away else None):
            if task is not None:
                task.cancel()
        deadline_s = self._options.get("timeout_s") or DEFAULT_TIMEOUT_S
        with suppress(TimeoutError):
            await asyncio.wait_for(self._finish(deadline_s), 2 * deadline_s)
        for task in self._beside:
            task.cancel()
        if self._client is not None:
            lost = f"; {len(self._owed)} pages were never sent" if self._owed else ""
            if lost or self.counts["scored"] + self.counts["fallback"]:
                logger.info("linkscore: %s%s", self._scored(), lost)
            await self._client.close()
            self._client = None

    async def _finish(self, deadline_s: float) -> None:
        """Wait for what is beside; send what waits, also if the server is back and no probe has found out."""
        if self._beside:
            await asyncio.wait(self._beside, timeout=deadline_s)
        if not self.away:
            await self.send_feedback()
        elif (self._owed or self._unsaid) and await self._answers():
            await self._catch_up()


def _places(result: scoring_pb2.PageResult) -> dict[int, Place]:
    """Give the places of the links of a page that were scored, by their index."""
    return {
        row.index: Place(row.bucket, row.score, row.bucket_value, row.ticket)
        for row in rows(result.links)
        if row.usable
    }
