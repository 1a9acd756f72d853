"""The single writer of a crawl: makes events durable in groups, applies them in order, answers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from linkscore_scoring.engine.crawl import repeat_id
from linkscore_scoring.engine.events import ConfigChanged, Event, LearningFailed, PageFetched, encode
from linkscore_scoring.engine.results import Outcome
from linkscore_scoring.errors import LinkscoreError
from linkscore_scoring.site.learning import LearnedSite
from linkscore_server import tasks
from linkscore_server.crawls.pace import Pace
from linkscore_server.crawls.site_turns import SiteTurns
from linkscore_server.crawls.snapshots import SnapshotWriter
from linkscore_server.observability.metrics import Metrics
from linkscore_server.observability.tracing import Submitted, Tracing
from linkscore_server.residency import ResidentCrawl
from linkscore_server.storage import failpoints
from linkscore_server.storage.base import CrawlLog
from linkscore_server.storage.sites import SiteLost
from linkscore_server.storage.space import DiskFull, SpaceAlarm

_log = logging.getLogger(__name__)

_MAX_GROUP = 256
"""Events written by one sync: a bound on what callers wait for. Chosen, not measured."""

_MAX_GROUP_BYTES = 64 << 20
"""Likewise, in bytes: what the largest call of the defaults brings, and far from what a frame holds."""

_EVENTS_A_SLICE = 32
"""Events of one call, pages apart, that are applied before the event loop serves other calls; after a page it
does in any case. Chosen, not measured."""

_PREPARED_AT_ONCE = 8
"""Calls whose sites are read back or written at a time: what that takes of memory, however many calls wait.
More than threads do it, so that none is idle. Chosen, not measured."""

Outcomes = list[Outcome | Exception]
"""What came of the events of one call, an exception in place of one that could not be applied."""


class CrawlClosed(LinkscoreError):
    """The crawl was deleted, or the server stops: nothing more is taken in."""


@dataclass(slots=True)
class _Submission:
    """Events that are made durable together, the sites they are about, and who waits for their outcomes.

    `is_prepared` says whether its sites were read back and written, as far as that was possible.
    """

    events: Sequence[Event]
    raw: list[bytes]
    sites: frozenset[str]
    done: asyncio.Future[Outcomes]
    trace: Submitted
    learned: LearnedSite | None = None
    came: float = field(default_factory=time.perf_counter)
    repeats: frozenset[int] = frozenset()
    is_prepared: bool = False

    @property
    def new(self) -> list[bytes]:
        """Bytes of the events that go into the log: those that are repeats, by place, do not."""
        return [raw for at, raw in enumerate(self.raw) if at not in self.repeats]

    @property
    def must_log_first(self) -> bool:
        """Whether the events must be in the log before any other, though writing them failed."""
        return any(isinstance(event, LearningFailed) for event in self.events)


class CrawlWriter:
    """Takes in events of one crawl.

    An event is applied after it is durable and answered after it is applied. While one group is being written
    the next one gathers, so the cost of a sync is shared under load and nobody waits when there is none.
    Events of a site that is being read or written wait, and let those of others go before them.

    Parameters
    ----------
    model, log
        State of the crawl, and where its events go.
    turn
        Held while events are applied.
    sites
        Says whose sites are.
    snapshots
        Begun between events.
    executor
        Runs what blocks on the disk.
    background
        Brings sites back that were evicted.
    metrics, tracing
        Where commits are counted, and the stages of an event told.
    space
        Told of writes that found no room on the disk, and of those that did.
    applied
        Called with each event that was applied and its outcome.
    make_room
        Awaited before the next events when sites take more memory than they may.
    """

    def __init__(
        self,
        model: ResidentCrawl,
        log: CrawlLog,
        *,
        turn: asyncio.Lock,
        sites: SiteTurns,
        snapshots: SnapshotWriter,
        executor: Executor,
        background: Executor,
        metrics: Metrics,
        tracing: Tracing,
        space: SpaceAlarm,
        applied: Callable[[Event, Outcome], None],
        make_room: Callable[[], Awaitable[None]] | None,
    ) -> None:
        self._model, self._log, self._turn, self._snapshots = model, log, turn, snapshots
        self._executor, self._background, self._space = executor, background, space
        self._metrics, self._tracing = metrics, tracing
        self._applied, self._make_room = applied, make_room
        self._sites = sites
        self._queue: deque[_Submission] = deque()
        self._parked: list[_Submission] = []
        self._parked_sites: set[str] = set()
        self._preparing: set[asyncio.Task[Any]] = set()
        self._places = _PREPARED_AT_ONCE  # of calls whose sites are not prepared yet
        self._news = asyncio.Event()
        self._is_ending = False
        self.pace = Pace()
        self._in_work: list[_Submission] = []
        self._owed: list[_Submission] = []
        self._task: asyncio.Task[None] | None = None
        self.has_failed = False
        sites.freed = self._unpark
        snapshots.is_held_back = lambda: bool(self._owed)

    def start(self, key: str) -> None:
        """Begin to write; `key` names the crawl in the log."""
        self._task = tasks.beside(self._run(), f"writer of crawl {key}", failed=self._failed)

    async def finish(self) -> bool:
        """Write what was submitted, and end; returns whether there is a state to be kept."""
        if self._task is None:
            return False
        self._is_ending = True
        self._news.set()
        await asyncio.wait([self._task])
        return not self.has_failed

    @property
    def waiting_count(self) -> int:
        """Calls whose events wait to be made durable."""
        return len(self._queue) + len(self._parked)

    def submit(
        self,
        events: Sequence[Event],
        raw: Sequence[bytes | None] = (),
        learned: LearnedSite | None = None,
    ) -> asyncio.Future[Outcomes]:
        """Take in events that are made durable together, all or none; returns what to wait for.

        Parameters
        ----------
        events
            The events.
        raw
            Their bytes for the log, where whoever made an event has them; empty: nobody has any.
        learned
            Of a `ModelActivated`, see `CrawlModel.apply`.

        Raises
        ------
        CrawlClosed
            If the crawl is about to be opened again.
        """
        if self.has_failed:
            raise self._opened_again()
        done: asyncio.Future[Outcomes] = asyncio.get_running_loop().create_future()
        trace = self._tracing.submitted(self._model.config.name, len(events))
        made = [given or encode(event) for event, given in zip_longest(events, raw)]
        sites = frozenset(getattr(event, "site", "") for event in events)
        self._queue.append(_Submission(events, made, sites, done, trace, learned))
        self._news.set()
        return done

    def apply(
        self, seq: int, event: Event, raw: bytes, learned: LearnedSite | None = None
    ) -> Outcome | Exception:
        """Apply an event, or return why that is not possible: the same now and at every replay."""
        try:
            outcome = self._model.apply(seq, event, learned, raw)
        except (SiteLost, OSError, MemoryError):
            raise
        except Exception as exc:
            self._metrics.apply_failures.inc()
            _log.exception("crawl %s: event %d could not be applied", self._model.config.name, seq)
            return exc
        self._applied(event, outcome)
        return outcome

    async def _run(self) -> None:
        while group := await self._next_group():
            await self._take_in(group)
            if self._model.sites.is_over_budget and self._make_room is not None:
                await self._make_room()
            if self._snapshots.is_due:
                await self._snapshots.begin()
        await self._take_in([])  # what is owed: the disk may have room again

    async def _take_in(self, group: list[_Submission]) -> None:
        self._in_work = group = self._owed + group
        self._owed = []
        if self._log.states.is_lost or self._log.is_away:
            self._fail_all(group)
        elif group:
            async with self._sites.of_writer(site for item in group for site in item.sites):
                if await self._commit(group):
                    await self._apply(group)

    async def _next_group(self) -> list[_Submission]:
        """Return what one sync writes, without what nobody waits for any more; empty: it was the last."""
        while True:
            if group := self._at_hand():
                return group
            if self._is_ending and not self._parked:
                return []
            self._news.clear()
            await self._news.wait()

    def _at_hand(self) -> list[_Submission]:
        """Return what waits, as much as one sync writes, but for what has to wait for its sites."""
        group: list[_Submission] = []
        events = size = 0
        while self._queue and events < _MAX_GROUP and size < _MAX_GROUP_BYTES:
            item = self._queue.popleft()
            if item.done.cancelled() or self._is_parked(item):
                continue
            group.append(item)
            events += len(item.raw)
            size += sum(map(len, item.raw))
        return group

    def _is_parked(self, item: _Submission) -> bool:
        """Say whether a call has to wait for its sites, or a place, or one before it about one of them."""
        names = item.sites
        if all(map(self._sites.is_free, names)) and self._parked_sites.isdisjoint(names):
            if item.is_prepared or not (unready := self._model.sites.unready(names)):
                return False
            if self._places:
                item.is_prepared = True
                self._places -= 1
                self._sites.take(unready)
                tasks.beside(self._prepare(unready), "preparing sites for events", self._preparing)
        self._parked.append(item)
        self._parked_sites |= names
        return True

    def _unpark(self, freed: Collection[str] | None) -> None:
        """Look at those that are parked again, before all that came later, if any waits for such a site."""
        if freed is not None and self._parked_sites.isdisjoint(freed):
            return
        self._queue.extendleft(reversed(self._parked))
        self._parked.clear()
        self._parked_sites.clear()
        self._news.set()

    async def _prepare(self, sites: Sequence[str]) -> None:
        """Have sites written as they are, if a snapshot lacks them, and in memory."""
        try:
            async with self._sites.quiet():
                await self._snapshots.write(self._model.sites.checkpoint.pending_of(sites))
                await self._bring_back(sites)
        finally:
            self._places += 1
            self._sites.give_back(sites)
            self._unpark(None)  # any of the others may wait for the place

    async def _apply(self, group: list[_Submission]) -> None:
        events = [event for item in group for event in item.events]
        changes_all = any(isinstance(event, ConfigChanged) for event in events)
        async with self._sites.alone() if changes_all else nullcontext(), self._turn:
            await self._snapshots.before(events)
            await self._bring_back(getattr(event, "site", "") for event in events)
            await self._apply_group(group)

    async def _commit(self, group: list[_Submission]) -> bool:
        started = time.perf_counter()
        self._find_repeats(group)
        raw = [event for item in group for event in item.new]
        try:
            if raw:
                await asyncio.get_running_loop().run_in_executor(self._executor, self._log.append, raw)
        except Exception as found:
            exc = self._space.failed(found)
            self._metrics.commit_failures.inc()
            if not isinstance(exc, DiskFull):  # which the alarm has logged, once
                _log.error("log of %s: %s", self._model.config.name, exc)
            for item in group:
                item.trace.durable(exc)
                _fail(item.done, exc)
                if item.must_log_first:
                    self._owe(item)
            return False
        if raw:
            self._space.written()
            now = time.perf_counter()
            self._metrics.commit_seconds.observe(now - started)
            self._metrics.commit_events.inc(len(raw))
            waited_s = sum(now - item.came for item in group)
            self.pace.add(events=len(raw), size=sum(map(len, raw)), calls=len(group), waited_s=waited_s)
        for item in group:
            item.trace.durable()
        return True

    def _find_repeats(self, group: list[_Submission]) -> None:
        """Note the events that were applied before, or come before in the group: they only ask again."""
        before: set[str] = set()
        for item in group:
            repeats = []
            for at, event in enumerate(item.events):
                event_id = repeat_id(event)
                if event_id and (event_id in before or self._model.is_repeat(event)):
                    repeats.append(at)
                before.add(event_id)
            item.repeats = frozenset(repeats)

    def _owe(self, item: _Submission) -> None:
        """Apply what must not wait for the disk: it goes into the log before the next event that does.

        So a replay has it at the same place; should the process end before, the learning starts again.
        """
        self._owed.append(item)
        with suppress(SiteLost):  # then the crawl is opened again from its log, which has none of this
            for event, raw in zip(item.events, item.raw, strict=True):
                self.apply(self._model.seq, event, raw)

    async def _bring_back(self, sites: Iterable[str]) -> None:
        """Read sites back that events are about to change, so that nobody else waits for it.

        What goes wrong is met again, and told, by the event itself.
        """
        if away := self._model.sites.away(sites):
            bring_back = self._model.sites.bring_back
            with suppress(Exception):
                await asyncio.get_running_loop().run_in_executor(self._background, bring_back, away)

    async def _apply_group(self, group: list[_Submission]) -> None:
        seq = self._log.last_seq - sum(len(item.events) - len(item.repeats) for item in group)
        for item in group:
            outcomes: Outcomes = []
            for at, event in enumerate(item.events):
                if outcomes and (isinstance(event, PageFetched) or len(outcomes) % _EVENTS_A_SLICE == 0):
                    await asyncio.sleep(0)
                try:
                    with item.trace.watch("apply"):
                        if at in item.repeats:
                            outcomes.append(self._answered_again(event))
                        else:
                            seq += 1
                            outcomes.append(self.apply(seq, event, item.raw[at], item.learned))
                except SiteLost as exc:
                    _log.error("crawl %s: %s", self._model.config.name, exc)
                    self._fail_all(group)
                    return
            failpoints.reached("log.applied")
            if not item.done.done():
                item.done.set_result(outcomes)
            failpoints.reached("log.answered")
            if len(group) > 1:
                await asyncio.sleep(0)

    def _answered_again(self, event: Event) -> Outcome | Exception:
        """Return the outcome of a repeat, or why there is none."""
        try:
            return self._model.answer_again(event)
        except SiteLost:
            raise
        except Exception as exc:
            return exc

    def _fail_all(self, group: list[_Submission]) -> None:
        """Tell callers to come again, when the crawl is open again; what is in the log is then applied."""
        for item in group:
            _fail(item.done, self._opened_again())

    def _opened_again(self) -> CrawlClosed:
        return CrawlClosed(f"crawl {self._model.config.name!r} is opened again, try again")

    def _failed(self, error: BaseException) -> None:
        """Let nobody wait for a writer that ended: the next call opens the crawl again, from its log."""
        self.has_failed = True
        self._metrics.writer_failures.inc()
        self._fail_all([*self._in_work, *self._parked, *self._queue])
        self._parked.clear()
        self._queue.clear()


def _fail(done: asyncio.Future[Any], error: Exception) -> None:
    if not done.done():
        done.set_exception(error)
