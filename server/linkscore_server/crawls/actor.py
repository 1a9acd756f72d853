"""One crawl that is open: its state, who writes it, what runs beside, and who uses it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import ConfigChanged, Event, LearningRequested, PageFetched, decode
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.engine.results import Outcome, PageOutcome
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.errors import CorruptState, LinkscoreError
from linkscore_scoring.site.learning import LearnedSite
from linkscore_server import tasks
from linkscore_server.crawls.anchors import AnchorTexts
from linkscore_server.crawls.learning import Learnings
from linkscore_server.crawls.learning_pool import LearningPool
from linkscore_server.crawls.pace import Pace
from linkscore_server.crawls.site_turns import SiteTurns
from linkscore_server.crawls.snapshots import SnapshotWriter, load_newest, require_policies
from linkscore_server.crawls.writer import CrawlClosed, CrawlWriter, Outcomes
from linkscore_server.observability.metrics import Metrics
from linkscore_server.observability.tracing import NO_TRACING, Tracing
from linkscore_server.residency import ResidentCrawl, SiteAway
from linkscore_server.storage.base import CrawlLog
from linkscore_server.storage.formats import unreadable
from linkscore_server.storage.space import DiskFull, SpaceAlarm

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_FEW = 4
"""Evicted sites that a question may bring back one by one; of more it is a big one. Chosen, not measured."""


class CrawlActor:
    """Owns one crawl: `writer` changes it, `queries` reads it, on the same event loop.

    Parameters
    ----------
    model
        State of the crawl, as new or as recovered.
    log
        Where its events go; owned, closed with the actor.
    executor
        Runs what waits for the log.
    learner
        Runs learnings, see `Learnings`.
    metrics
        Where commits, snapshots and learnings are counted.
    background
        Makes snapshots and evicts sites, so that no commit of any crawl waits for it; None: `executor`.
    reader
        Answers big questions, see `ask`; None: `executor`.
    snapshot_events, snapshot_s
        Events between snapshots, and seconds at most if there are events; 0: by events alone.
    tracing
        Where the stages of an event are told.
    make_room
        Awaited before the next events when sites take more memory than they may: whoever owns the budget has
        some evicted, of this crawl or others. So memory cannot grow far faster than it is given back.
    space
        Told of writes that found no room on the disk, and of those that did.
    key
        Of the shard that this is, see `Shard`; empty: the crawl's name, which is the same for one group.

    Attributes
    ----------
    listeners
        Called with each event that is applied from then on and its outcome; must not fail.
    """

    def __init__(
        self,
        model: ResidentCrawl,
        log: CrawlLog,
        *,
        executor: Executor,
        learner: LearningPool,
        metrics: Metrics,
        background: Executor | None = None,
        reader: Executor | None = None,
        snapshot_events: int = 500,
        snapshot_s: float = 0.0,
        tracing: Tracing = NO_TRACING,
        make_room: Callable[[], Awaitable[None]] | None = None,
        space: SpaceAlarm | None = None,
        key: str = "",
    ) -> None:
        self.model = model
        self.key = key or model.config.name
        model.watch = tracing.watch
        self.queries = CrawlQueries(model)
        self.anchors = AnchorTexts()
        self._log = log
        self._background = background or executor
        self._reader = reader or executor
        self._executor = executor
        self._metrics = metrics
        self._turn = asyncio.Lock()
        self._sites = SiteTurns(self._turn, lambda: model.writes_states)
        self._snapshots = SnapshotWriter(
            model,
            log,
            self._background,
            metrics,
            every=snapshot_events,
            every_s=snapshot_s,
            turn=self._turn,
            sites=self._sites,
        )
        self.writer = CrawlWriter(
            model,
            log,
            turn=self._turn,
            sites=self._sites,
            snapshots=self._snapshots,
            executor=executor,
            background=self._background,
            metrics=metrics,
            tracing=tracing,
            space=space or SpaceAlarm(),
            applied=self._applied,
            make_room=make_room,
        )
        self._learnings = Learnings(
            model.config.name,
            pool=learner,
            executor=self._background,
            metrics=metrics,
            submit=lambda event, learned: self._submitted([event], learned=learned),
        )
        self._is_serving = self._is_closed = self._is_released = False
        self.listeners: list[Callable[[Event, Outcome], None]] = []
        self._users: set[asyncio.Task[Any]] = set()
        self.last_used_s = time.monotonic()

    def recover(
        self, *, with_snapshot: bool = True, go_on: Callable[[int, int], None] = lambda seq, last: None
    ) -> int:
        """Rebuild the state from snapshot and log; blocks. Returns the number of events replayed.

        `go_on` is called before each event with its number and that of the last one; it may wait.

        Raises
        ------
        CorruptState
            If the log is damaged, naming file and offset, or the snapshot is not one of this version.
        NotFound
            If a policy the crawl was set up with is not registered any more: what it learned would be lost.
        """
        if with_snapshot:
            load_newest(self.model, self._log)
        else:
            self._log.states.clear()
        self._snapshots.last_seq = self._log.states.seq
        replayed = 0
        for seq, raw in self._log.read(self.model.seq):
            go_on(seq, self._log.last_seq)
            try:
                event = decode(raw)
                config = CrawlConfig.from_state(event.config) if isinstance(event, ConfigChanged) else None
            except CorruptState as exc:
                raise unreadable(self._log.place(seq), seq, exc) from exc
            if config is not None:
                require_policies(config)
            self.writer.apply(seq, event, raw)
            self._evict(self.model.sites.enforce_budget)
            replayed += 1
        self.model.take_jobs()
        return replayed

    def start(self) -> None:
        """Begin to write; learnings that were cut short are started again."""
        self._is_serving = True
        self.writer.start(self.key)
        for job in self.model.unfinished_jobs():
            self._learnings.start(job)

    def check_trusted(self) -> Iterator[str]:
        """Check what of the log was not read when the crawl was opened, see `CrawlLog.check_trusted`."""
        return self._log.check_trusted()

    @property
    def is_in_use(self) -> bool:
        """Whether a task needs the crawl: one that called `use`, a learning, or the writer."""
        return bool(self._users or self._learnings.is_under_way or self.writer.waiting_count)

    @property
    def has_events(self) -> bool:
        """Whether there is an event in the log."""
        return self._log.last_seq > 0

    @property
    def replay_count(self) -> int:
        """Events after the last snapshot: those that a restart replays."""
        return self.model.seq - self._log.states.seq

    @property
    def pace(self) -> Pace:
        """How much comes in a second."""
        return self.writer.pace

    @property
    def waiting_count(self) -> int:
        """Calls whose events wait to be made durable."""
        return self.writer.waiting_count

    @property
    def is_lost(self) -> bool:
        """Whether the crawl has to be opened again: a site or its writer is lost, or the log is away."""
        return not self.is_sound or self._log.is_away

    @property
    def is_sound(self) -> bool:
        """Whether the state is that of a crawl after some event, whatever became of its log."""
        return not (self.writer.has_failed or self._log.states.is_lost)

    async def confirm(self) -> None:
        """Return if the state has every event acknowledged so far, by whichever process; see `CrawlLog`.

        Raises
        ------
        LogAway
            If another process has the crawl, or nobody knows.
        """
        await asyncio.get_running_loop().run_in_executor(self._executor, self._log.confirm)

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

    async def ask(self, question: Callable[[], _T]) -> _T:
        """Answer a big question in a thread: other calls are served, no event is applied meanwhile."""
        async with self._turn:
            self._must_be_there()
            return await tasks.in_thread(self._reader, question)

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
                await self._read_back(name)
                read.append(name)
        finally:
            sites.let_go(filter(self._sites.is_free, read))
        return await self.ask(question)

    async def _read_back(self, name: str) -> None:
        async with self._sites.beside([name]):
            self._must_be_there()
            await tasks.in_thread(self._background, self.model.sites.bring_back, [name])

    def _must_be_there(self) -> None:
        """Raise CrawlClosed if the crawl was released while a question waited: its files are not its own."""
        if self._is_released:
            raise CrawlClosed(f"crawl {self.model.config.name!r} is closed")

    async def site(self, name: str) -> SiteShard:
        """Return a site, to read it; NotFound if the crawl has none of this name."""
        return await self.answer(partial(self.model.shard, name))

    async def submit(self, event: Event) -> Outcome:
        """Make an event durable, apply it and return its outcome.

        Raises
        ------
        OSError
            If it could not be made durable: nothing was applied.
        CrawlClosed
            If the actor takes nothing more: nothing was applied.
        Exception
            What applying it failed with.
        """
        (outcome,) = await self._submitted([event])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def submit_all(
        self, events: Sequence[Event], raw: Sequence[bytes | None] = ()
    ) -> asyncio.Future[Outcomes]:
        """Take in events as one group, in their order; returns what to wait for.

        `raw` are their bytes for the log, where whoever made an event has them; empty: nobody has any.

        The result has one outcome an event, an exception in place of one that could not be applied. Errors as
        of `submit`: all of the events are made durable, or none.

        Raises
        ------
        CrawlClosed
            If the actor takes nothing more.
        """
        return self._submitted(events, raw)

    def _submitted(
        self, events: Sequence[Event], raw: Sequence[bytes | None] = (), learned: LearnedSite | None = None
    ) -> asyncio.Future[Outcomes]:
        if self._is_closed:
            raise CrawlClosed(f"crawl {self.model.config.name!r} is closed")
        return self.writer.submit(events, raw, learned)

    def _applied(self, event: Event, outcome: Outcome) -> None:
        """Take note of an event that was applied: of anchors seen, and of learnings that became due."""
        if isinstance(event, PageFetched) and isinstance(outcome, PageOutcome) and outcome.observation:
            self.anchors.see(event, outcome.observation.url)
        for told in self.listeners:
            told(event, outcome)
        if self._is_serving and not self._is_closed:
            for job in self.model.take_jobs():
                self._learnings.start(job)

    async def learn(self, site: str) -> None:
        """Learn a site from all its pages acknowledged before this call; returns when the model is active.

        Raises
        ------
        CrawlClosed
            If the crawl was closed meanwhile.
        Exception
            What the learning failed with.
        """
        asked_at, started_at = self.model.seq, 0
        while started_at <= asked_at:  # one that runs already knows less: wait for it, then ask again
            outcome = await self.submit(LearningRequested(site))
            started_at = outcome if isinstance(outcome, int) else 0
            error = await self._learnings.wait(site, started_at)
        if error is not None:
            raise error

    async def ask_for_model(self, site: str) -> None:
        """Start the learning of a site that waits for somebody to ask; returns when that is in the log.

        Without room on the disk it waits on: whoever asks is answered all the same.
        """
        if site in self.model.sites and (await self.site(site)).model.waits_for_question:
            with suppress(DiskFull):
                await self.submit(LearningRequested(site))

    async def evict_sites(self, most: int) -> int:
        """Evict up to `most` sites of this crawl, those first that had no event for longest.

        Returns how many were; a snapshot that stood in the way went on a step instead.
        """
        names = self.model.sites.oldest(most, self._sites.is_free)
        async with self._sites.beside(names):
            evict = partial(self.model.sites.evict, names)
            evicted = await tasks.in_thread(self._background, self._evict, evict)
        if not evicted and self._snapshots.is_under_way:
            await self._sites.changed()
        return evicted

    def _evict(self, work: Callable[[], int]) -> int:
        """Evict sites; returns how many. What goes wrong is this crawl's own, whoever asks for room."""
        try:
            return work()
        except Exception as exc:
            unexpected = None if isinstance(exc, OSError | LinkscoreError) else exc
            _log.error("crawl %s: sites cannot be evicted: %s", self.key, exc, exc_info=unexpected)
        self._metrics.eviction_failures.inc()
        return 0

    async def save(self) -> None:
        """Write a snapshot while events are taken in."""
        await self._snapshots.begin()
        await self._snapshots.end()

    async def close(self) -> None:
        """Finish what was submitted, write a snapshot, release the log."""
        self._is_closed = True
        self._learnings.cancel()
        try:
            if await self.writer.finish():
                await self._snapshots.end()
                await self.save()
        finally:
            self._snapshots.is_over = True
            await self._snapshots.end()
            async with self._sites.alone(), self._turn:
                self.release()

    async def discard(self) -> None:
        """Stop without a snapshot, for a crawl that is deleted or another process's."""
        self._snapshots.is_over = True
        await self.close()

    def release(self) -> None:
        """Release log and memory of an actor that was never started."""
        self._is_released = True
        self.model.sites.close()
        self._log.close()
