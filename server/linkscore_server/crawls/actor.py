"""One open crawl: calls bring events, the store makes them durable, the model applies them, callers hear.

Events of one crawl are committed in groups, one at a time: while a group is written the next one gathers, so
the cost of a commit is shared under load and nobody waits when there is none. A site that a thread reads or
writes is *held*: its events wait in the queue, and let those of other sites go before them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence, Set
from concurrent.futures import Executor
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel, repeat_id
from linkscore_scoring.engine.events import (
    ConfigChanged,
    Event,
    FeedbackGiven,
    LearningRequested,
    LogsMined,
    PageFetched,
    encode,
)
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.engine.results import Outcome
from linkscore_scoring.engine.shard import CrawlWide, SiteShard
from linkscore_scoring.errors import LinkscoreError, NotLearned
from linkscore_scoring.site.learning import LearnedSite
from linkscore_server import tasks
from linkscore_server.crawls.learning import CrawlClosed, LearningPool, Learnings
from linkscore_server.crawls.memory import DiskFull, as_disk_full
from linkscore_server.crawls.sites import SiteAway, StoredCrawl
from linkscore_server.observability import Metrics
from linkscore_server.store import Core, NewEvent, StoreAway, StoredShard
from linkscore_server.store.store import MAX_GROUP, MAX_GROUP_BYTES

Outcomes = list[Outcome | Exception]
"""What came of the events of one call, an exception in place of one that could not be applied."""


@dataclass(slots=True)
class Submission:
    """Events that are made durable together, the sites they are about, and who waits for their outcomes.

    `repeats` are the places of those that were applied before: they only ask again.
    """

    events: Sequence[Event]
    raw: list[bytes]
    sites: frozenset[str]
    done: asyncio.Future[Outcomes]
    learned: LearnedSite | None = None
    repeats: frozenset[int] = frozenset()

    def fail(self, error: Exception) -> None:
        """Tell who waits, if anybody does, that nothing comes of it."""
        if not self.done.done():
            self.done.set_exception(error)


def new_events(group: Sequence[Submission], model: CrawlModel) -> list[NewEvent]:
    """Return what goes into the store; events that were applied before, or come twice, only ask again."""
    ids, made, new = set[str](), set[str](), list[NewEvent]()
    for item in group:
        repeats = set()
        for at, event in enumerate(item.events):
            event_id = repeat_id(event)
            if event_id and (event_id in ids or event_id in model.event_ids):
                repeats.add(at)
                continue
            ids.add(event_id)
            site = getattr(event, "site", "")
            if isinstance(event, PageFetched | FeedbackGiven | LogsMined):
                made.add(site)
            # Of a site that the crawl does not have there shall be no row.
            about = site if site in made or site in model.sites else ""
            new.append(NewEvent(about, event_id, item.raw[at]))
        item.repeats = frozenset(repeats)
    return new


class SiteHolds:
    """The sites that a thread reads or writes, or the writer has events for; never both."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.by_threads: set[str] = set()
        self.by_writer: frozenset[str] = frozenset()
        self.writer_wants_all = False  # for a configuration
        self._wanted: Counter[str] = Counter()  # by threads, as soon as the writer is done
        self._given_back = asyncio.Event()  # the next time

    def is_free(self, site: str) -> bool:
        """Say whether a thread may have a site."""
        return not (self.writer_wants_all or site in self.by_threads or site in self.by_writer)

    def may_be_written(self, sites: Set[str]) -> bool:
        """Say whether the writer may have sites: none is held or waited for."""
        return self.by_threads.isdisjoint(sites) and self._wanted.keys().isdisjoint(sites)

    @asynccontextmanager
    async def holding(self, names: Collection[str], check: Callable[[], None]) -> AsyncIterator[None]:
        """Keep events from sites, as soon as nobody has any of them; `check` may refuse that then."""
        self._wanted.update(names)
        try:
            while not all(map(self.is_free, names)):
                await self._given_back.wait()
            check()
        finally:
            self._wanted = +(self._wanted - Counter(names))
            self._changed()  # what waited for who gave up may be written
        self.by_threads.update(names)
        try:
            yield
        finally:
            self.give_back(names)

    def give_back(self, names: Collection[str]) -> None:
        """Be done with sites."""
        self.by_threads.difference_update(names)
        self.tell()
        self._changed()

    def tell(self) -> None:
        """Let threads that wait look again."""
        self._given_back.set()
        self._given_back = asyncio.Event()


_log = logging.getLogger(__name__)
_A = TypeVar("_A")
_T = TypeVar("_T")

_MOST_PASSED = 1_000
"""Calls that wait for their sites and are looked at again for each group, before no later one goes first."""
_SLICE_S = 0.005
"""For how long events are applied before the event loop serves other calls. Chosen, not measured."""
_READ_AT_ONCE = 8
"""Calls whose sites are read back at a time: a bound on memory, however many calls wait. Chosen."""
_FEW = 4
"""Sites that a question may read back one by one; of more it is a big one. Chosen, not measured."""
MANY_SITES = 32  # sites that are asked before events are applied again: 60 ms if all are read back; chosen
_CORE_EVENTS = 128
"""Events after which what a crawl knows beside its sites is written: a start applies as many, .4 s."""
_WIDE_EVENTS = 500
"""The same where policies know something across sites: each time all changed sites are written, so it is far
more where these are many: what is written may take a tenth of the time that the events took."""
_WIDE_BYTES_AN_EVENT = 40 << 10
"""Memory of changed sites that one event pays the writing of: .3 ms. Measured on sites of 240 pages."""
_END_S = 2.0
"""Longest writing of rows when a crawl is closed; the others are read from more events. Chosen."""


class CrawlActor:
    """Owns one crawl: its writer changes it, `queries` reads it, on the same event loop."""

    def __init__(
        self,
        model: StoredCrawl,
        shard: StoredShard,
        *,
        learner: LearningPool,
        background: Executor,
        reader: Executor,
        metrics: Metrics,
        make_room: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.model, self._shard, self.key, self.number = model, shard, shard.key, shard.number
        self.queries = CrawlQueries(model)
        self.last_used_s = time.monotonic()
        self._background, self._reader = background, reader
        self._metrics = metrics
        self._make_room = make_room
        self._turn = asyncio.Lock()  # held while events are applied, and by who must not see that
        self._learnings = Learnings(
            model.config.name,
            pool=learner,
            executor=background,
            metrics=metrics,
            submit=lambda event, learned: self.submit_all([event], learned),
        )
        self._queue: deque[Submission] = deque()
        self._in_work: list[Submission] = []
        self._news = asyncio.Event()
        self._holds = SiteHolds(self._news.set)
        self._reading = 0
        self._putting = asyncio.Lock()
        self._core_seq, self._look_seq = model.core_seq, 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self._users: set[asyncio.Task[Any]] = set()
        self._writer: asyncio.Task[None] | None = None
        self._rows: asyncio.Task[None] | None = None
        self._is_ending = self._is_closed = self._is_released = self._has_failed = False

    def start(self) -> None:
        """Begin to write; learnings that were cut short are started again."""
        self._writer = tasks.beside(self._run(), f"writer of crawl {self.key}", failed=self._failed)
        tasks.beside(self._look_at_sites(), f"sites of crawl {self.key}", self._tasks)

    # -- who uses it ---------------------------------------------------------------------------------------

    @property
    def is_in_use(self) -> bool:
        """Whether a task needs the crawl: one that called `use`, a learning, or the writer."""
        return bool(self._users or self._learnings.running or self._queue or self._in_work)

    @property
    def is_lost(self) -> bool:
        """Whether the crawl has to be opened again: its writer failed, or the store was away."""
        return self._has_failed or self._shard.is_away

    @property
    def replay_count(self) -> int:
        """Events that a start applies before it serves."""
        return self.model.seq - self._core_seq

    @property
    def waiting_count(self) -> int:
        """Calls whose events wait to be made durable."""
        return len(self._queue)

    def use(self) -> None:
        """Say that the crawl is needed until the running task ends."""
        self.last_used_s = time.monotonic()
        task = asyncio.current_task()
        if task is not None and task not in self._users:
            self._users.add(task)
            task.add_done_callback(self._unused)

    def _unused(self, task: asyncio.Task[Any]) -> None:
        self._users.discard(task)
        self.last_used_s = time.monotonic()

    # -- questions -----------------------------------------------------------------------------------------

    async def ask(self, question: Callable[[], _T]) -> _T:
        """Answer a big question in a thread: other calls are served, no event is applied meanwhile."""
        async with self._turn:
            self._must_be_there()
            return await tasks.in_thread(self._reader, question)

    async def ask_each(self, items: Sequence[_A], question: Callable[[_A], _T]) -> list[_T]:
        """Answer a question about each of many sites; between some and the next events are applied."""
        found: list[_T] = []
        for at in range(0, len(items), MANY_SITES):
            found += await self.ask(partial(list, map(question, items[at : at + MANY_SITES])))
        return found

    async def value_new(self, buckets: Sequence[str]) -> None:
        """Value buckets of many sites that nobody asked about since these changed, as after a start."""
        if len(new := self.queries.unvalued(buckets)) > MANY_SITES:
            await self.ask_each(new, lambda names: self.queries.plan_fetches(names, 0))

    async def answer(self, question: Callable[[], _T]) -> _T:
        """Answer a question at once, or when the sites are read back that it needs; many: as a big one."""
        sites, read = self.model.sites, list[str]()
        try:
            while len(read) < _FEW:
                try:
                    with sites.at_hand():
                        return question()
                except SiteAway as away:
                    name = str(away)
                await self._read_back([name])
                read.append(name)
        finally:
            if not self.model.is_wide:
                sites.let_go(filter(self._holds.is_free, read))
        return await self.ask(question)

    async def site(self, name: str) -> SiteShard:
        """Return a site, to read it; NotFound if the crawl has none of this name."""
        return await self.answer(partial(self.model.shard, name))

    def _must_be_there(self) -> None:
        if self._is_released:
            raise CrawlClosed(f"crawl {self.model.config.name!r} is closed")

    # -- events --------------------------------------------------------------------------------------------

    async def submit(self, event: Event) -> Outcome:
        """Make an event durable, apply it and return its outcome."""
        (outcome,) = await self.submit_all([event])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def submit_all(
        self, events: Sequence[Event], learned: LearnedSite | None = None
    ) -> asyncio.Future[Outcomes]:
        """Take in events as one group, all or none, in their order; returns what to wait for.

        The result has one outcome an event, an exception in place of one that could not be applied.
        """
        if self._is_closed or self._has_failed:
            why = "closed" if self._is_closed else "opened again, try again"
            raise CrawlClosed(f"crawl {self.model.config.name!r} is {why}")
        done: asyncio.Future[Outcomes] = asyncio.get_running_loop().create_future()
        made = [encode(event) for event in events]
        sites = frozenset(getattr(event, "site", "") for event in events)
        self._queue.append(Submission(events, made, sites, done, learned))
        self._news.set()
        return tasks.heard(done)

    async def learn(self, site: str) -> None:
        """Learn a site from all its pages acknowledged before this call; returns when the model is active."""
        asked_at, started_at = self.model.seq, 0
        while started_at <= asked_at:  # one that runs already knows less: wait for it, then ask again
            outcome = await self.submit(LearningRequested(site))
            started_at = outcome if isinstance(outcome, int) else 0
            if not started_at:
                raise NotLearned(f"site {site!r}: no page to learn from yet")
            model = (await self.site(site)).model
            if model.learning_since == started_at:  # one that was cut short: nobody has started it yet
                self._learnings.start(model.job())
            error = await self._learnings.wait(site, started_at)
        if error is not None:
            raise error

    # -- the writer ----------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            if not (group := self._at_hand()):
                if self._is_ending and not self._queue:
                    return
                self._news.clear()
                await self._news.wait()
                continue
            self._in_work = group
            await self._take_in(group)
            self._in_work = []
            if self.model.sites.budget.is_over and self._make_room is not None:
                await self._make_room()
            await self._write_due()

    def _at_hand(self) -> list[Submission]:
        """Return what one commit writes: what waits and whose sites are at hand; others are read back."""
        self._holds.writer_wants_all = False
        group, passed = list[Submission](), list[Submission]()
        blocked, events, size = set[str](), 0, 0
        while self._queue and events < MAX_GROUP and size < MAX_GROUP_BYTES and len(passed) < _MOST_PASSED:
            item = self._queue.popleft()
            if item.done.cancelled():
                continue
            if any(isinstance(event, ConfigChanged) for event in item.events):
                self._holds.writer_wants_all = not (group or passed)
                if self._holds.writer_wants_all and not self._holds.by_threads:
                    return [item]
                self._queue.appendleft(item)
                break
            is_free = blocked.isdisjoint(item.sites) and self._holds.may_be_written(item.sites)
            if is_free and not (away := self.model.sites.away(item.sites)):
                group.append(item)
                events += len(item.raw)
                size += sum(map(len, item.raw))
                continue
            if is_free and self._reading < _READ_AT_ONCE:
                self._reading += 1
                tasks.beside(self._prepared(away), "reading sites for events", self._tasks)
                self._holds.by_threads.update(away)
            blocked |= item.sites
            passed.append(item)
        self._queue.extendleft(reversed(passed))
        return group

    async def _prepared(self, names: Collection[str]) -> None:
        """Have sites in memory that are held for it; of those that cannot be read all events fail."""
        try:
            async with self._turn if self.model.is_wide else nullcontext():
                await tasks.in_thread(self._background, self.model.sites.bring_back, names)
        except Exception as exc:
            _log.error("crawl %s: %s cannot be read: %s", self.key, ", ".join(names), exc)
            for item in self._queue:
                if not item.sites.isdisjoint(names):
                    item.fail(exc)
            self._queue = deque(item for item in self._queue if not item.done.done())
        finally:
            self._reading -= 1
            self._holds.give_back(names)

    async def _take_in(self, group: list[Submission]) -> None:
        self._holds.by_writer = frozenset().union(*(item.sites for item in group))
        try:
            becomes = False  # of policies that know something across sites, or no more of such
            if isinstance(event := group[0].events[0], ConfigChanged):
                wide = CrawlWide(CrawlConfig.from_state(event.config)).known is not None
                becomes = self.model.is_wide != wide
            if becomes:  # no event before it is to be applied by policies after it
                async with self._turn:
                    sites = list(self.model.sites)
                    await tasks.in_thread(self._background, self.model.sites.bring_back, sites)
            if (first := await self._commit(group)) is None:
                return
            async with self._turn:
                await self._apply_group(group, first)
            if becomes:
                await self._write_all(every=True)
        finally:
            self._holds.by_writer, self._holds.writer_wants_all = frozenset(), False
            self._holds.tell()

    async def _commit(self, group: list[Submission]) -> int | None:
        """Make events durable; returns the number of the first, None if that failed."""
        started = time.perf_counter()
        events = new_events(group, self.model)
        try:
            first = await asyncio.wrap_future(self._shard.commit(events)) if events else self._shard.last_seq
        except Exception as found:
            exc = as_disk_full(found)
            self._metrics.of("log_commit_failures").inc()
            if not isinstance(exc, DiskFull):  # which the store has logged, once
                _log.error("crawl %s: %s", self.key, exc)
            for item in group:
                item.fail(exc)
            return None
        if events:
            self._metrics.of("log_commit").observe(time.perf_counter() - started)
        return first

    async def _apply_group(self, group: list[Submission], seq: int) -> None:
        until = time.perf_counter() + _SLICE_S
        for item in group:
            outcomes: Outcomes = []
            for at, event in enumerate(item.events):
                if time.perf_counter() > until:
                    await asyncio.sleep(0)
                    until = time.perf_counter() + _SLICE_S
                if at in item.repeats:
                    outcomes.append(self._answered_again(event))
                    continue
                outcomes.append(self._applied(seq, event, item.raw[at], item.learned))
                seq += 1
            if not item.done.done():
                item.done.set_result(outcomes)

    def _applied(
        self, seq: int, event: Event, raw: bytes, learned: LearnedSite | None
    ) -> Outcome | Exception:
        """Apply an event, or return why that is not possible: the same now and at every replay."""
        try:
            outcome = self.model.apply(seq, event, learned, size=len(raw))
        except (OSError, MemoryError):
            raise
        except Exception as exc:
            self._metrics.of("apply_failures").inc()
            _log.exception("crawl %s: event %d could not be applied", self.key, seq)
            return exc
        if self.model.jobs and not self._is_closed:
            for job in self.model.take_jobs():
                self._learnings.start(job)
        return outcome

    def _answered_again(self, event: Event) -> Outcome | Exception:
        try:
            return self.model.answer_again(event)
        except Exception as exc:
            return exc

    def _failed(self, error: BaseException) -> None:
        """Let nobody wait for a writer that ended: the next call opens the crawl again, from the store."""
        self._has_failed = True
        for item in (*self._in_work, *self._queue):
            item.fail(CrawlClosed(f"crawl {self.model.config.name!r} is opened again, try again"))
        self._in_work = []
        self._queue.clear()

    # -- sites held by threads -----------------------------------------------------------------------------

    @asynccontextmanager
    async def _holding(self, names: Collection[str]) -> AsyncIterator[None]:
        async with (
            self._holds.holding(names, self._must_be_there),
            self._turn if self.model.is_wide else nullcontext(),
        ):
            yield

    async def _read_back(self, names: Collection[str]) -> None:
        async with self._holding(names):
            await tasks.in_thread(self._background, self.model.sites.bring_back, names)

    async def _look_at_sites(self) -> None:
        """Read the sites whose events are not all in their facts, and start learnings that were cut short."""
        sites = self.model.sites
        for name in sites.unsure():
            try:
                await self._read_back([name])
            except (LinkscoreError, OSError) as exc:  # who asks for the site hears it
                _log.error("crawl %s: site %s cannot be read: %s", self.key, name, exc)
                continue
            if sites.budget.is_over and self._make_room is not None:
                await self._make_room()
        for name in sites.learning():
            model = (await self.site(name)).model
            if model.learning_since and not self._is_closed:
                self._learnings.start(model.job())

    # -- rows ----------------------------------------------------------------------------------------------

    async def evict_sites(self, most: int) -> int:
        """Forget up to `most` sites, those first that had no event for longest; returns how many were."""
        sites, is_wide = self.model.sites, self.model.is_wide
        names = sites.oldest(most, self._holds.is_free, is_clean=is_wide)
        if not names and is_wide and sites.changed_bytes() and not self._holds.by_writer:
            await self._write_all()
            names = sites.oldest(most, self._holds.is_free, is_clean=True)
        for name in names:
            sites.forget(name)
        return len(names)

    async def _write_due(self) -> None:
        """Write what makes a start, and reading sites back, cheap again."""
        sites, new = self.model.sites, self.model.applied - self._core_seq
        if self.model.is_wide:
            sites.due.clear()
            if new >= max(_WIDE_EVENTS, self._look_seq):
                paid, changed = new * _WIDE_BYTES_AN_EVENT, sites.changed_bytes()
                self._look_seq = 2 * new if sum(changed.values()) > paid else 0
                if not self._look_seq:
                    await self._write_all()
            return
        if sites.due and (self._rows is None or self._rows.done()):
            self._rows = tasks.beside(self._write_rows(), f"rows of crawl {self.key}")
        if new >= _CORE_EVENTS and not self._putting.locked():
            self._shard.put((), self._core())

    def _core(self) -> Core:
        core = self.model.core()
        self._core_seq = core.seq
        return core

    async def _write_rows(self, *, within_s: float = float("inf")) -> None:
        """Write rows of the sites that are due, one after the other."""
        sites, until = self.model.sites, time.monotonic() + within_s
        while sites.due and time.monotonic() < until and not self._shard.is_away:
            name = sites.due.pop()
            if self.model.is_wide or sites.away([name]):
                continue
            with suppress(CrawlClosed):
                async with self._holding([name]):
                    sites.due.discard(name)  # events that came before the hold are in the row too
                    if not sites.away([name]):
                        await self._write_row(name)

    async def _write_row(self, name: str) -> None:
        sites = self.model.sites
        try:
            row = await tasks.in_thread(self._background, sites.row, name, self.model.applied)
            async with self._putting:
                # Never older than the row: else a start could not say what of the site is in it.
                await tasks.in_thread(self._background, self._shard.put, [row], self._core())
        except Exception:
            sites.could_not_write(name)
            self._metrics.of("state_failures").inc()
            _log.exception("crawl %s: the state of %s cannot be written: its events are read", self.key, name)
            return
        sites.wrote(row)

    async def _write_all(self, *, every: bool = False) -> None:
        """Write sites, those that changed, and the core as of one event; wait until the store has them."""
        sites = self.model.sites
        async with self._turn, self._putting:
            try:
                names = list(sites if every else sites.changed_bytes())
                await tasks.in_thread(self._background, self.model.write_all, names)
            except Exception:
                self._metrics.of("state_failures").inc()
                _log.exception("crawl %s: states cannot be written; a start applies more events", self.key)
                return
            self._core_seq = self.model.applied

    # -- the end -------------------------------------------------------------------------------------------

    async def save(self) -> None:
        """Write rows, so that whoever opens the crawl next is quick; returns when the store has them."""
        if self.model.is_wide:
            await self._write_all()
            return
        self.model.sites.due.update(self.model.sites.changed_bytes())
        await self._write_rows(within_s=_END_S)
        async with self._putting:
            self._shard.put((), self._core())
            with suppress(OSError, StoreAway):  # the events say the same
                await asyncio.wrap_future(self._shard.flush())

    async def close(self, *, save: bool = True) -> None:
        """Finish what was submitted, write rows unless the crawl is deleted or lost, release memory."""
        self._is_closed = True
        self._learnings.cancel()
        try:
            if self._writer is not None:
                self._is_ending = True
                self._news.set()
                await asyncio.wait([self._writer])
                if self._rows is not None:
                    await asyncio.wait([self._rows])
                if save and not self.is_lost and self.model.applied:
                    await self.save()
        finally:
            self._is_released = True
            for task in self._tasks:
                task.cancel()
            self._holds.tell()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            async with self._turn:
                self.model.sites.close()
