"""The single writer of a crawl: makes events durable in groups, applies them in order, answers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, TypeVar

import msgpack

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import repeat_id
from linkscore_scoring.engine.events import (
    ConfigChanged,
    Event,
    LearningFailed,
    LearningRequested,
    ModelActivated,
    PageFetched,
    decode,
    encode,
)
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.engine.results import PageOutcome
from linkscore_scoring.errors import CorruptState, LinkscoreError
from linkscore_scoring.policies.registry import policy_class
from linkscore_scoring.site.learning import LearnedSite, LearningJob
from linkscore_server import tasks
from linkscore_server.crawls.anchors import AnchorTexts
from linkscore_server.crawls.learning_pool import LearningPool
from linkscore_server.crawls.snapshots import SnapshotWriter
from linkscore_server.observability.metrics import Metrics
from linkscore_server.observability.tracing import NO_TRACING, Submitted, Tracing
from linkscore_server.residency import ResidentCrawl
from linkscore_server.storage import failpoints
from linkscore_server.storage.base import CrawlLog, LogAway
from linkscore_server.storage.formats import unreadable
from linkscore_server.storage.sites import SiteLost
from linkscore_server.storage.space import DiskFull, SpaceAlarm

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

_MAX_GROUP = 256
"""Events written by one sync: a bound on what callers wait for. Chosen, not measured."""

_MAX_GROUP_BYTES = 64 << 20
"""Likewise, in bytes: what the largest call of the defaults brings, and far from what a frame holds."""

_EVENTS_A_SLICE = 32
"""Events of one call, pages apart, that are applied before the event loop serves other calls; after a page it
does in any case. Chosen, not measured."""


@dataclass(slots=True)
class _Submission:
    """Events that are made durable together, and who waits for their outcomes."""

    events: Sequence[Event]
    raw: list[bytes]
    done: asyncio.Future[list[Any]]
    trace: Submitted
    learned: LearnedSite | None = None
    repeats: frozenset[int] = frozenset()

    @property
    def new(self) -> list[bytes]:
        """Bytes of the events that go into the log: those that are repeats, by place, do not."""
        return [raw for at, raw in enumerate(self.raw) if at not in self.repeats]

    @property
    def is_owed(self) -> bool:
        """Whether the events must be in the log before any other, though writing them failed."""
        return any(isinstance(event, LearningFailed) for event in self.events)


class CrawlClosed(LinkscoreError):
    """The crawl was deleted, or the server stops: nothing more is taken in."""


class CrawlActor:
    """Owns the state of one crawl. `queries` reads it, on the same event loop.

    An event is applied after it is durable and answered after it is applied. While one group is being written
    the next one gathers, so the cost of a sync is shared under load and nobody waits when there is none.

    Parameters
    ----------
    model
        State of the crawl, as new or as recovered.
    log
        Where its events go; owned, closed with the actor.
    executor
        Runs what blocks on the disk.
    learner
        Runs learnings, beside it, so that they delay no commit and no call.
    metrics
        Where commits, snapshots and learnings are counted.
    background
        Makes snapshots and puts sites away, so that no commit of any crawl waits for it; None: `executor`.
    reader
        Answers big questions, see `ask`; None: `executor`.
    snapshot_events
        Events between snapshots.
    tracing
        Where the stages of an event are told.
    make_room
        Awaited before the next events when sites take more memory than they may: whoever owns the budget puts
        some away, of this crawl or others. So memory cannot grow faster than it is given back.
    space
        Told of writes that found no room on the disk, and of those that did.
    key
        Of the shard that this is, see `Shard`; empty: the crawl's name, which is the same for one group.
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
        snapshot_events: int = 5_000,
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
        self._executor = executor
        self._background = background or executor
        self._reader = reader or executor
        self._learner = learner
        self._metrics = metrics
        self._snapshot_events = snapshot_events
        self._tracing = tracing
        self._make_room = make_room
        self._space = space or SpaceAlarm()
        self._snapshot_seq = 0
        self._snapshots = SnapshotWriter(model, log, self._background, metrics)
        self._queue: asyncio.Queue[_Submission | None] = asyncio.Queue()
        self._in_work: list[_Submission] = []
        self._has_failed = False
        self._owed: list[_Submission] = []
        self._learning: dict[tuple[str, int], asyncio.Task[Exception | None]] = {}
        self._writer: asyncio.Task[None] | None = None
        self._closed = self._discarded = False
        self._turn = asyncio.Lock()
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
            self._load_snapshot()
        else:
            self._log.states.clear()
        replayed = 0
        for seq, raw in self._log.read(self.model.seq):
            go_on(seq, self._log.last_seq)
            try:
                event = decode(raw)
                config = CrawlConfig.from_state(event.config) if isinstance(event, ConfigChanged) else None
            except CorruptState as exc:
                raise unreadable(self._log.place(seq), seq, exc) from exc
            if config is not None:
                _require_policies(config)
            self._apply(seq, event, None)
            self._put_away()
            replayed += 1
        self.model.take_jobs()
        return replayed

    def _load_snapshot(self) -> None:
        whole, states = self._log.snapshot(), self._log.states
        if whole is not None and whole.seq > states.seq:
            states.clear()
            self.model.load_state(msgpack.unpackb(whole.state, strict_map_key=False))
        elif states.seq:
            self._load_cut()
        else:
            return
        _require_policies(self.model.config)

    def _load_cut(self) -> None:
        states = self._log.states
        try:
            core = msgpack.unpackb(states.core(), strict_map_key=False)
            self.model.load_core(core, states.sites())
        except CorruptState as exc:
            states.clear()
            raise SiteLost(str(exc)) from exc
        self._snapshot_seq = states.seq

    def start(self) -> None:
        """Begin to write; learnings that were cut short are started again."""
        self._writer = tasks.beside(self._write(), f"writer of crawl {self.key}", failed=self._writer_failed)
        for job in self.model.unfinished_jobs():
            self._start_learning(job)

    @property
    def is_in_use(self) -> bool:
        """Whether a task needs the crawl: one that called `use`, a learning, or the writer."""
        return bool(self._users or self._learning or not self._queue.empty())

    @property
    def has_events(self) -> bool:
        """Whether there is an event in the log."""
        return self._log.last_seq > 0

    @property
    def replay_count(self) -> int:
        """Events after the last snapshot: those that a restart replays."""
        return self.model.seq - self._log.states.seq

    @property
    def waiting_count(self) -> int:
        """Calls whose events wait to be made durable."""
        return self._queue.qsize()

    @property
    def is_lost(self) -> bool:
        """Whether the crawl has to be opened again: a site or its writer is lost, or the log is away."""
        return self._has_failed or self._log.states.is_lost or self._log.is_away

    @property
    def is_sound(self) -> bool:
        """Whether the state is that of a crawl after some event, whatever became of its log."""
        return not (self._has_failed or self._log.states.is_lost)

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
            answer: _T = await _run_in(self._reader, question)
            return answer

    async def submit(self, event: Event, learned: LearnedSite | None = None) -> Any:
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
        (outcome,) = await self._submitted([event], learned)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def submit_all(
        self, events: Sequence[Event], raw: Sequence[bytes | None] = ()
    ) -> asyncio.Future[list[Any]]:
        """Take in events as one group, in their order; returns what to wait for.

        `raw` are their bytes for the log, where whoever made an event has them; empty: nobody has any.

        The result has one outcome an event, an exception in place of one that could not be applied. Errors as
        of `submit`: all of the events are made durable, or none.

        Raises
        ------
        CrawlClosed
            If the actor takes nothing more.
        """
        return self._submitted(events, raw=raw)

    def _submitted(
        self,
        events: Sequence[Event],
        learned: LearnedSite | None = None,
        raw: Sequence[bytes | None] = (),
    ) -> asyncio.Future[list[Any]]:
        if self._closed:
            raise CrawlClosed(f"crawl {self.model.config.name!r} is closed")
        if self._has_failed:
            raise self._opened_again()
        done: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        trace = self._tracing.submitted(self.model.config.name, len(events))
        made = [given or encode(event) for event, given in zip_longest(events, raw)]
        self._queue.put_nowait(_Submission(events, made, done, trace, learned))
        return done

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
            started_at = await self.submit(LearningRequested(site))
            error = await self._wait_for_learning(site, started_at)
        if error is not None:
            raise error

    async def ask_for_model(self, site: str) -> None:
        """Start the learning of a site that waits for somebody to ask; returns when that is in the log.

        Without room on the disk it waits on: whoever asks is answered all the same.
        """
        if site in self.model.sites and self.model.shard(site).model.waits_for_question:
            with suppress(DiskFull):
                await self.submit(LearningRequested(site))

    async def put_away_sites(self, most: int) -> int:
        """Put away up to `most` sites of this crawl, those first that had no event for longest.

        Returns how many were; a snapshot that stood in the way went on a step instead.
        """
        async with self._turn:
            put_away: int = await _run_in(self._background, self._put_away, most)
        if not put_away and self._snapshots.is_under_way:
            await self._snapshot_on()
        return put_away

    def _put_away(self, most: int = 0) -> int:
        """Put away sites; returns how many. What goes wrong is this crawl's own, whoever asks for room."""
        try:
            return self.model.sites.enforce_budget(most)
        except Exception as exc:
            unexpected = None if isinstance(exc, OSError | LinkscoreError) else exc
            _log.error(
                "crawl %s: sites cannot be put away: %s", self.model.config.name, exc, exc_info=unexpected
            )
        self._metrics.put_away_failures.inc()
        return 0

    async def save(self) -> None:
        """Write a snapshot while events are taken in: to close it soon takes a moment then."""
        async with self._turn:
            if not self._snapshots.is_under_way and self._begin_snapshot():
                await self._snapshots.step()
        await self._snapshot_on(whole=True)

    async def close(self) -> None:
        """Finish what was submitted, write a snapshot, release the log."""
        self._closed = True
        for task in self._learning.values():
            task.cancel()
        try:
            if self._writer is not None:
                self._queue.put_nowait(None)
                await asyncio.wait([self._writer])
            if self._writer is not None and not self._has_failed:
                await self._snapshot_on(whole=True)
                await self._snapshot(whole=True)
        finally:
            self.release()

    async def discard(self) -> None:
        """Stop without a snapshot, for a crawl that is deleted."""
        self._discarded = True
        await self.close()

    def release(self) -> None:
        """Release log and memory of an actor that was never started."""
        self.model.sites.close()
        self._log.close()

    async def _write(self) -> None:
        while True:
            group, last = await self._next_group()
            self._in_work = group = self._owed + group
            self._owed = []
            if self.is_lost:
                self._fail_all(group)
            elif group and await self._commit(group):
                async with self._turn:
                    await self._snapshots.before([event for item in group for event in item.events])
                    await self._apply_group(group)
                if self.model.sites.is_over_budget and self._make_room is not None:
                    await self._make_room()
            if last:
                return
            if self._snapshots.is_under_way:
                await self._snapshot_on()
            elif self.model.seq - self._snapshot_seq >= self._snapshot_events:
                await self._snapshot()

    async def _next_group(self) -> tuple[list[_Submission], bool]:
        """Return what one sync writes, without what nobody waits for any more, and whether it is the last."""
        group: list[_Submission] = []
        events = size = 0
        while (item := await self._queue.get()) is not None:
            if not item.done.cancelled():
                group.append(item)
                events += len(item.raw)
                size += sum(map(len, item.raw))
            is_full = events >= _MAX_GROUP or size >= _MAX_GROUP_BYTES
            if group and (self._queue.empty() or is_full):
                return group, False
        return group, True

    async def _commit(self, group: list[_Submission]) -> bool:
        started = time.perf_counter()
        self._find_repeats(group)
        raw = [event for item in group for event in item.new]
        try:
            if raw:
                await _run_in(self._executor, self._log.append, raw)
        except Exception as found:
            exc = self._space.failed(found)
            self._metrics.commit_failures.inc()
            if not isinstance(exc, DiskFull):  # which the alarm has logged, once
                _log.error("log of %s: %s", self.model.config.name, exc)
            for item in group:
                item.trace.durable(exc)
                _fail(item.done, exc)
                if item.is_owed:
                    self._owe(item)
            return False
        if raw:
            self._space.written()
            self._metrics.commit_seconds.observe(time.perf_counter() - started)
            self._metrics.commit_events.inc(len(raw))
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
                if event_id and (event_id in before or self.model.is_repeat(event)):
                    repeats.append(at)
                before.add(event_id)
            item.repeats = frozenset(repeats)

    def _owe(self, item: _Submission) -> None:
        """Apply what must not wait for the disk: it goes into the log before the next event that does.

        So a replay has it at the same place; should the process end before, the learning starts again.
        """
        self._owed.append(item)
        with suppress(SiteLost):  # then the crawl is opened again from its log, which has none of this
            for event in item.events:
                self._apply(self.model.seq, event, None)

    async def _apply_group(self, group: list[_Submission]) -> None:
        seq = self._log.last_seq - sum(len(item.events) - len(item.repeats) for item in group)
        for item in group:
            outcomes: list[Any] = []
            for at, event in enumerate(item.events):
                if outcomes and (isinstance(event, PageFetched) or len(outcomes) % _EVENTS_A_SLICE == 0):
                    await asyncio.sleep(0)
                try:
                    with item.trace.watch("apply"):
                        if at in item.repeats:
                            outcomes.append(self._answered_again(event))
                        else:
                            seq += 1
                            outcomes.append(self._apply(seq, event, item.learned))
                except SiteLost as exc:
                    _log.error("crawl %s: %s", self.model.config.name, exc)
                    self._fail_all(group)
                    return
                for job in self.model.take_jobs():
                    self._start_learning(job)
            failpoints.reached("log.applied")
            if not item.done.done():
                item.done.set_result(outcomes)
            failpoints.reached("log.answered")
            if len(group) > 1:
                await asyncio.sleep(0)

    def _apply(self, seq: int, event: Event, learned: LearnedSite | None) -> Any:
        """Apply an event, or return why that is not possible: the same now and at every replay."""
        try:
            outcome = self.model.apply(seq, event, learned)
        except (SiteLost, OSError, MemoryError):
            raise
        except Exception as exc:
            self._metrics.apply_failures.inc()
            _log.exception("crawl %s: event %d could not be applied", self.model.config.name, seq)
            return exc
        if isinstance(event, PageFetched) and isinstance(outcome, PageOutcome) and outcome.observation:
            self.anchors.see(event, outcome.observation.url)
        return outcome

    def _answered_again(self, event: Event) -> Any:
        """Return the outcome of a repeat, or why there is none."""
        try:
            return self.model.answer_again(event)
        except SiteLost:
            raise
        except Exception as exc:
            return exc

    def _start_learning(self, job: LearningJob) -> None:
        if self._closed:
            return
        key = (job.site, job.built_from_seq)
        task = self._learning[key] = tasks.beside(self._learn_and_activate(job), f"learning of {job.site}")
        task.add_done_callback(lambda _: self._learning.pop(key, None))

    async def _learn_and_activate(self, job: LearningJob) -> Exception | None:
        """Learn and activate; returns why that failed. Failure is an event too: the site may learn again."""
        started = time.perf_counter()
        try:
            learned = await self._learner.learn(job)
            event = await _run_in(self._background, _activation, job, learned)
            self._metrics.learning_seconds.observe(time.perf_counter() - started)
            await self.submit(event, learned)
        except (CrawlClosed, LogAway) as exc:  # it starts again when the crawl is open again
            return exc
        except Exception as exc:
            self._metrics.learning_failures.inc()
            _log.exception("learning of %s failed; the site goes on without a new model", job.site)
            await self._log_failure(job)
            return exc
        return None

    async def _log_failure(self, job: LearningJob) -> None:
        try:
            await self.submit(LearningFailed(job.site, job.built_from_seq))
        except (OSError, CrawlClosed) as exc:
            _log.error(
                "crawl %s: the failed learning of %s is not in the log: %s",
                self.model.config.name,
                job.site,
                exc,
            )

    async def _wait_for_learning(self, site: str, started_at: int) -> Exception | None:
        """Wait for a learning to end; returns why it failed, None if it did not or ended before."""
        task = self._learning.get((site, started_at))
        if task is None:
            return None
        await asyncio.wait([task])
        return (
            CrawlClosed(f"crawl {self.model.config.name!r} is closed") if task.cancelled() else task.result()
        )

    def _fail_all(self, group: list[_Submission]) -> None:
        """Tell callers to come again, when the crawl is open again; what is in the log is then applied."""
        for item in group:
            _fail(item.done, self._opened_again())

    def _opened_again(self) -> CrawlClosed:
        return CrawlClosed(f"crawl {self.model.config.name!r} is opened again, try again")

    def _writer_failed(self, error: BaseException) -> None:
        """Let nobody wait for a writer that ended: the next call opens the crawl again, from its log."""
        self._has_failed = True
        self._metrics.writer_failures.inc()
        self._fail_all(self._in_work)
        while not self._queue.empty():
            if (item := self._queue.get_nowait()) is not None:
                self._fail_all([item])

    async def _snapshot(self, *, whole: bool = False) -> None:
        """Begin a snapshot of the crawl as it is now, and go on with it; see `_snapshot_on`."""
        if self._begin_snapshot():
            await self._snapshot_on(whole=whole)

    def _begin_snapshot(self) -> bool:
        """Begin a snapshot if there is anything new to write; says whether."""
        seq = self.model.seq
        if seq == self._snapshot_seq or self._discarded or self._owed:  # the log must have what it holds
            return False
        self._snapshot_seq = seq  # one that fails is tried again after as many events
        self._snapshots.begin()
        return True

    async def _snapshot_on(self, *, whole: bool = False) -> None:
        """Go on with the snapshot under way until events wait, or to its end if it is wanted whole."""
        while self._snapshots.is_under_way and not self._discarded:
            async with self._turn:
                await self._snapshots.step()
            if not whole and not self._queue.empty():
                return


def _require_policies(config: CrawlConfig) -> None:
    """Raise NotFound if a policy of the crawl is not registered."""
    for choice in (config.policy, *config.extra_policies):
        policy_class(choice.name)


def _run_in(executor: Executor, call: Callable[..., Any], *args: Any) -> Awaitable[Any]:
    return asyncio.get_running_loop().run_in_executor(executor, call, *args)


def _activation(job: LearningJob, learned: LearnedSite) -> ModelActivated:
    return ModelActivated(job.site, job.built_from_seq, learned.digest(), learned.to_state())


def _fail(done: asyncio.Future[Any], error: Exception) -> None:
    if not done.done():
        done.set_exception(error)
