"""The calls of one crawl to its server; none stops a crawl that has begun. Adapters share it."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import grpc

from linkscore._channel import (
    DEFAULT_TIMEOUT_S,
    file_problem,
    target_problem,
    timeout_problem,
    tls_problem,
    token_problem,
)
from linkscore._requests import option_problem
from linkscore.aio import AsyncClient
from linkscore.errors import LinkscoreError, NotFound, raise_if_invalid
from linkscore.frontier import Allotment, Allowance, Frontier
from linkscore.messages import CrawlOptions, is_dropped
from linkscore.outages import MAX_TRIES, Outlook, OwedPage, PageBuffer
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

logger = logging.getLogger("linkscore")

T = TypeVar("T")

PROBE_FIRST_S, PROBE_LONGEST_S = 1.0, 5.0
"""Pause before the first probe of an outage, which doubles, and its bound; chosen: a probe costs nothing."""

PROBE_TIMEOUT_S = 1.0
"""Deadline of the cheap call that asks whether the server is back; it takes milliseconds."""

PATIENCE_S = 60.0
"""Absence after which a crawl ends that only waits for the server: it is back in seconds if it starts again;
chosen, not measured."""

MAX_RANKED = 100_000
"""Buckets of one call: what the server takes."""

MINUTE_S = 60.0
"""Between two lines that say how it goes."""

# A field of a crawl, and what is in it: an entry, or a field of its own.
_OF_A_FIELD = re.compile(r"(\w*)\.?(.*)", re.DOTALL)
# A bound, chosen: distinct messages of refused calls that are logged; the counters count them all.
_MAX_LOGGED = 20
# A bound, chosen: what pages were worth, kept while the server is away.
_MAX_UNSAID = 20_000
_UNSAID_A_CALL = 1_000  # well below what one call may carry (5,000)
# RESOURCE_EXHAUSTED for these reasons says nothing about the page that was sent.
_NOT_THE_PAGE = frozenset({"DISK_FULL", "OVERLOADED"})
# What only another configuration mends: such a crawl does not begin.
_REFUSALS = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
    }
)


CLIENT_OPTIONS = ("tls", "token", "token_file", "timeout_s", "channel_options")
"""Of `AsyncClient`, beside the target."""


def near(name: str, known: Iterable[str]) -> str:
    """Name what was probably meant.

    >>> near("tokn", CLIENT_OPTIONS)
    ', did you mean token?'
    """
    found = get_close_matches(name, known, n=1, cutoff=0.83)
    return f", did you mean {found[0]}?" if found else ""


def option_problems(target: str, crawl: CrawlOptions, client: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Give the options that cannot be, and why, before anything is asked."""
    tls, token_file, timeout_s = (client.get(name) for name in ("tls", "token_file", "timeout_s"))
    files = {"tls": tls if isinstance(tls, str | os.PathLike) else None, "token_file": token_file}
    known = (*CLIENT_OPTIONS, *crawl)
    found = [
        ("target", target_problem(target)),
        *((name, "no such option" + near(name, known)) for name in client if name not in CLIENT_OPTIONS),
        *((name, file_problem(name, path)) for name, path in files.items() if path),
        *((name, option_problem(name, given)) for name, given in crawl.items()),
    ]
    if problem := token_problem(client.get("token")):
        found.append(("token", problem))
    if client.get("token") and token_file:
        found.append(("token_file", "a token and a file of one: only one of them may be set"))
    if timeout_s is not None:
        found.append(("timeout_s", timeout_problem(timeout_s)))
    return [(name, problem) for name, problem in found if problem]


def start_problem(error: LinkscoreError, target: str, tls: Any, setting: Callable[[str], str] = str) -> str:
    """Say which settings keep a crawl from beginning, by the names the user typed; empty if none does.

    `setting` writes the name of an option of the client or of the crawl as the user does.
    """
    if problem := tls_problem(error, target, tls):
        return f"{setting('tls')}: {problem}"
    if error.code not in _REFUSALS or error.is_outage:
        return ""
    if error.code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
        return f"{setting('token')}: {error}"
    if error.code == grpc.StatusCode.UNIMPLEMENTED:
        return f"{setting('target')}: no linkscore server at {target} ({error})"
    said = []
    for each in error.field_violations:
        name, rest = _OF_A_FIELD.fullmatch(each.field.removeprefix("crawl.")).groups()  # type: ignore[union-attr]
        option = "crawl" if name == "name" else name
        said.append(f"{setting(option)}: {rest}{' ' if rest else ''}{each.description}")
    return "; ".join(said) or f"{setting('crawl')}: {error}"


class Connection:
    """Calls the server for one crawl: a call gives the answer, or None and a counter.

    After an outage no call is made but a probe, every 1 to 5 s and beside the crawl: `GetCrawl`, and if that
    is answered the oldest page that was not. When both are answered, calls are made again, and the pages that
    were fetched meanwhile are sent, beside the crawl too: `late_page` hears the answers. A server that lost
    the crawl gets it again.

    `counts` has all that is counted, `frontier` the links that wait, `outlook` their order while the server
    is `away`, `allotment` and `allowance` what it hands out, `best` the best bucket and its value.
    """

    def __init__(
        self,
        target: str,
        *,
        crawl: str,
        config: CrawlOptions,
        late_page: Callable[[OwedPage, scoring_pb2.PageResult], None] = lambda owed, result: None,
        count: Callable[[str, int], None] = lambda name, by: None,
        encoding: int = common_pb2.PRIORITY_ENCODING_UNSPECIFIED,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        **client: Any,
    ) -> None:
        if problems := option_problems(target, config, client):
            raise ValueError("; ".join(f"{name}: {problem}" for name, problem in problems))
        self.away = False
        self.counts: Counter[str] = Counter()
        self.outlook, self.buffer = Outlook(), PageBuffer()
        self.allotment, self.allowance = Allotment(), Allowance(config.get("budget"))
        self.frontier = Frontier(self.allotment, self.outlook, self.allowance)
        self.best: tuple[str, float] | None = None
        self._refused = 0
        self._unsaid: OrderedDict[str, scoring_pb2.Feedback] = OrderedDict()
        self._away_since = 0.0
        self._target, self._options, self._crawl, self._config = target, client, crawl, config
        self._late_page, self._tell, self._encoding, self._sleep = late_page, count, encoding, sleep
        self._client: AsyncClient | None = None
        self._created: asyncio.Future[Any] | None = None
        self._beside: set[asyncio.Task[Any]] = set()
        self._minutes: asyncio.Task[None] | None = None
        self._probing: asyncio.Task[None] | None = None
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
        except Exception as error:
            self.failed(error)
        return None

    async def ingest(self, owed: OwedPage) -> scoring_pb2.PageResult | None:
        """Send a page; None if it is not taken, and if the server is away it is sent when it is back."""
        result = await self.call(lambda client: self._ingest(client, owed))
        if result is None and self.away:
            self.buffer.add(owed)
        elif result is None:
            self._refused += 1
        else:
            self.allowance.take(result)
        return result

    async def score(self, urls: Sequence[str]) -> common_pb2.LinkScores | None:
        """Score links by their URLs alone."""
        answer = await self.call(
            lambda client: client.score_links(crawl=self._crawl, links=urls, encoding=self._encoding)
        )
        return None if answer is None else answer.links

    async def is_to_skip(self, url: str, ticket: bytes) -> bool:
        """Say whether a link is dropped by a setting of the crawl by now; without an answer it is not."""
        links = [(url, ticket)]
        answer = await self.call(lambda client: client.score_links(crawl=self._crawl, links=links))
        return answer is not None and any(map(is_dropped, answer.links.skip_reasons))

    async def rank(self, n: int = 1, arrived: Mapping[str, int] | None = None) -> dict[str, float]:
        """Ask which of the buckets come next that links wait in; gives their values.

        `n` links may be taken before the next answer; `arrived` counts links that wait in a moment.
        """
        waiting = dict(islice((Counter(self.frontier.waiting) + Counter(arrived or {})).items(), MAX_RANKED))
        if not waiting:
            return {}
        under_way = self.frontier.under_way
        self.allotment.asked()
        answer = await self.call(
            lambda client: client.rank_buckets(crawl=self._crawl, buckets=waiting, n=n, in_flight=under_way)
        )
        if answer is None:
            self.allotment.lift()
            return {}
        self.count("ranked")
        values = self.allotment.read(answer, waiting=waiting, n=n)
        self.best = next(iter(values.items()), None)
        self.frontier.revalue(values)
        return values

    def owe_feedback(self, event: scoring_pb2.Feedback) -> None:
        """Keep what a page was worth until it is sent; of events of one id the last counts."""
        self._unsaid[event.event_id] = event
        if len(self._unsaid) > _MAX_UNSAID:
            self._unsaid.popitem(last=False)

    def withdraw_feedback(self, event_id: str) -> None:
        """Forget an event that was not sent."""
        self._unsaid.pop(event_id, None)

    @property
    def unsaid(self) -> int:
        """Count the events that were not sent."""
        return len(self._unsaid)

    async def send_feedback(self) -> None:
        """Say what pages were worth; while the server is away it is kept."""
        while self._unsaid and not self.away:
            most = min(_UNSAID_A_CALL, len(self._unsaid))
            events = [self._unsaid.popitem(last=False)[1] for _ in range(most)]
            told = await self.call(partial(AsyncClient.report_feedback, crawl=self._crawl, feedback=events))
            self.count("feedback", len(events) * (told is not None))
            if told is None and self.away:
                for event in events:
                    self._unsaid.setdefault(event.event_id, event)

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
        answer = await client.ingest_pages(crawl=self._crawl, pages=[owed.page], encoding=self._encoding)
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
            self._minutes = asyncio.get_running_loop().create_task(self._tell_each_minute())
        if self._created is None:
            self._created = asyncio.ensure_future(self._make(self._client))
            self._created.add_done_callback(_heard)  # whoever waits may be gone by then
        await asyncio.shield(self._created)
        return self._client

    async def _make(self, client: AsyncClient) -> None:
        """Create the crawl, and say once where it is scored; on any error the next call tries again."""
        try:
            crawl = await client.ensure_crawl(crawl=self._crawl, **self._config)
        except BaseException:
            self._created = None
            raise
        if self._introduced:
            return
        self._introduced = True
        try:
            version = await client.get_server_version(crawl=self._crawl, timeout_s=PROBE_TIMEOUT_S)
        except Exception:  # the call that follows says what is wrong
            version = ""
        policy = crawl.policy.WhichOneof("policy") or "harvest"
        where = f"linkscore {version} at {self._target}"
        logger.info("%s: crawl %s, policy %s", where, self._crawl, policy)
        if crawl.page_count:
            logger.info(
                "linkscore: crawl %s has %d pages of earlier runs and goes on from what they taught; "
                "a crawl of another name begins anew",
                self._crawl,
                crawl.page_count,
            )

    async def greet(self) -> None:
        """Create the crawl, and say where; without an answer the probes begin."""
        try:
            await self._connected()
        except LinkscoreError as error:
            tls = self._options.get("tls", False)
            if problem := await asyncio.to_thread(start_problem, error, self._target, tls):
                raise ValueError(problem) from error
            self.failed(error)
        except Exception as error:  # no token file, say
            self.failed(error)

    # Outages

    def failed(self, error: Exception) -> None:
        """Count what went wrong, say it once, and begin to wait for a server that is away."""
        ours = error if isinstance(error, LinkscoreError) else None
        name = ours.code.name if ours else "CLIENT"
        self.count(f"errors/{name}")
        if ours and ours.is_outage:
            self._leave(ours)
        elif (said := str(ours or repr(error))) not in self._logged and len(self._logged) < _MAX_LOGGED:
            self._logged.add(said)
            trace = None if ours else error
            logger.error("linkscore: a call failed, the crawl goes on: %s: %s", name, said, exc_info=trace)

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
        self._probing = self.start(self._wait_for_server(error.retry_after_s or 0.0))

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something beside the crawl; `close` waits for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        return task

    async def _wait_for_server(self, retry_after_s: float) -> None:
        """Probe until the server is back; then send it what it missed."""
        pause = PROBE_FIRST_S
        wait = min(PROBE_LONGEST_S, max(pause, retry_after_s))
        while True:
            await self._sleep(wait)
            if await self._answers():
                break
            wait = pause = min(PROBE_LONGEST_S, 2 * pause)
        logger.info(
            "linkscore answers again after %.0f s: %d pages are sent now",
            time.monotonic() - self._away_since,
            len(self.buffer),
        )
        await self._catch_up()

    async def _answers(self) -> bool:
        """Ask whether the server is there, by a cheap call, and takes pages in."""
        try:
            await self._attempt(lambda client: client.get_crawl(crawl=self._crawl, timeout_s=PROBE_TIMEOUT_S))
        except LinkscoreError as error:
            self.count(f"errors/{error.code.name}")
            return not error.is_outage
        except Exception as error:  # no token file, say: the next probe may find one
            self.failed(error)
            return False
        return self.buffer.oldest is None or await self._send(self.buffer.oldest)

    async def _send(self, owed: OwedPage) -> bool:
        """Send a page that waited; false if the server is away."""
        try:
            result = await self._attempt(lambda client: self._ingest(client, owed))
            self.buffer.done(owed)
            self.count("late/pages")
            self.allowance.take(result)
            self._late_page(owed, result)
        except Exception as error:
            self.failed(error)
            return self._not_taken(owed, error)
        return True

    def _not_taken(self, owed: OwedPage, error: Exception) -> bool:
        """Drop a page that is refused, or that keeps a server that answers from answering; false to wait."""
        if not isinstance(error, LinkscoreError) or not error.is_outage:
            self.buffer.drop(owed)
            return True
        owed.tries += error.code != grpc.StatusCode.UNAVAILABLE and error.reason not in _NOT_THE_PAGE
        if owed.tries >= MAX_TRIES:
            self.buffer.drop(owed)
        return False

    async def _catch_up(self) -> None:
        """Send the pages that were fetched meanwhile."""
        self.away = self.outlook.away = False
        while not self.away and (owed := self.buffer.oldest) is not None:
            await self._send(owed)
        await self.send_feedback()

    # What is said

    async def _tell_each_minute(self) -> None:
        told = self.counts.copy()
        while True:
            await asyncio.sleep(MINUTE_S)
            if told["scored"] == self.counts["scored"]:
                continue
            told = self.counts.copy()
            best = f"best bucket {self.best[0]} ({self.best[1]:.2f})" if self.best else "no bucket ranked"
            logger.info("linkscore: %s; %s%s", self._scored(), best, await self._warnings())

    async def _warnings(self) -> str:
        """Return what goes wrong on the site of the best bucket, as the server sees it."""
        site = self.best[0].partition("/")[0] if self.best else ""
        if not site:
            return ""
        advice = await self.call(lambda client: client.get_site_advice(crawl=self._crawl, site=site))
        return "".join(f"; {warning}" for warning in advice.warnings) if advice is not None else ""

    def _scored(self) -> str:
        scored = self.counts["scored"] + self.counts["late/scored"]
        return f"{scored} of {self.counts['scored'] + self.counts['fallback']} requests scored"

    # The end

    async def _last_try(self) -> None:
        """Send what waits if the server is back and no probe has found out yet."""
        if await self._answers():
            await self._catch_up()

    async def close(self) -> None:
        """Send what waits, within one deadline, if the server answers now; then close the connection."""
        if self._minutes is not None:
            self._minutes.cancel()
        deadline_s = self._options.get("timeout_s") or DEFAULT_TIMEOUT_S
        if self.away and self._probing is not None:
            self._probing.cancel()
        if self._beside:
            await asyncio.wait(self._beside, timeout=deadline_s)
        if not self.away:
            self.start(self.send_feedback())
        elif len(self.buffer) or self._unsaid:
            self.start(self._last_try())
        if self._beside:
            await asyncio.wait(self._beside, timeout=deadline_s)
        for task in self._beside:
            task.cancel()
        if self._client is not None:
            lost = f"; {len(self.buffer)} pages were never sent" if len(self.buffer) else ""
            if lost or self.counts["scored"] + self.counts["fallback"]:
                logger.info("linkscore: %s%s", self._scored(), lost)
            await self._client.close()
            self._client = None


def _heard(future: asyncio.Future[Any]) -> None:
    """Take the error of a future, so that asyncio does not log it as nobody's."""
    if not future.cancelled():
        future.exception()
