"""Snapshots of one crawl, written some sites at a time beside the events of the others."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import msgpack

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import ConfigChanged, Event
from linkscore_scoring.errors import CorruptState
from linkscore_scoring.policies.registry import policy_class
from linkscore_server import tasks
from linkscore_server.crawls.site_turns import SiteTurns
from linkscore_server.observability.metrics import Metrics
from linkscore_server.pieces import packed_in_pieces
from linkscore_server.residency import ResidentCrawl
from linkscore_server.storage.base import CrawlLog, Snapshot
from linkscore_server.storage.sites import SiteLost

_log = logging.getLogger(__name__)
_SLICE_BYTES = 1 << 19
"""Memory of sites whose events wait while they are written: of 2 MiB an event waited 44 ms (p50)."""


_STATES_COST = 10
"""Times as many events between snapshots of a crawl that writes states: 50 ms for a site of 240 pages, where
another writes ten events in .4 ms. Chosen: some 5,000 by default, as before there were others."""


@dataclass(slots=True)
class _Cut:
    """A snapshot under way, of the crawl after event `seq`; `core` is what it keeps beside the sites.

    Once it is durable here, `is_made`, it is still to be shared with whoever may open the log elsewhere.
    """

    seq: int
    began_s: float
    core: bytes = b""
    is_made: bool = False


class SnapshotWriter:
    """Makes cuts of a crawl, see ADR 19.

    Parameters
    ----------
    model, log
        The crawl, and where its snapshots go.
    executor
        Writes them.
    metrics
        Where snapshots are counted.
    every, every_s
        Events after which the next one is due, and seconds after the first of them; 0: never.
    turn
        Held while one begins: no event is applied meanwhile.
    sites
        Says whose sites are; those being written are taken.

    Attributes
    ----------
    last_seq
        Number of the last event of the newest one, or of one that was tried.
    is_over
        Whether no more are written: the crawl is deleted.
    is_held_back
        Whether none may begin: events were applied that are in no log.
    """

    def __init__(
        self,
        model: ResidentCrawl,
        log: CrawlLog,
        executor: Executor,
        metrics: Metrics,
        *,
        every: int,
        every_s: float,
        turn: asyncio.Lock,
        sites: SiteTurns,
    ) -> None:
        self._model = model
        self._log = log
        self._executor = executor
        self._metrics = metrics
        self._every, self._every_s, self._turn, self._sites = every, every_s, turn, sites
        self._first_s = math.inf  # when the first event that is in no snapshot was seen
        self._has_failed = False
        self._cut: _Cut | None = None
        self._task: asyncio.Task[None] | None = None
        self.last_seq = 0
        self.is_over = False
        self.is_held_back: Callable[[], bool] = lambda: False

    @property
    def is_under_way(self) -> bool:
        """Whether a snapshot was begun and is not whole."""
        return self._task is not None and not self._task.done()

    @property
    def is_due(self) -> bool:
        """Whether there were so many events since the last one, or any for so long."""
        if self.is_under_way or (new := self._model.seq - self.last_seq) == 0:
            return False
        if self._model.writes_states:
            return new >= self._every * _STATES_COST
        if self._has_failed:  # on a full disk each would fail, and leave a traceback in the log
            return new >= self._every
        now = asyncio.get_running_loop().time()
        self._first_s = min(now, self._first_s)
        return new >= self._every or 0 < self._every_s <= now - self._first_s

    async def begin(self) -> None:
        """Begin one of the crawl as it is now, if that is news and none is under way; it goes on by itself.

        What a log is cut by is the whole crawl, and of the same event: it is written before the next one.
        """
        alone = self._sites.alone() if self._log.needs_whole_snapshots else nullcontext()
        async with alone, self._turn:
            is_news = self._model.seq != self.last_seq
            if not is_news or self.is_over or self.is_under_way or self.is_held_back():
                return
            self.last_seq = self._model.seq  # one that fails is tried again after as many events
            self._first_s = math.inf
            self._cut = cut = _Cut(self._model.seq, time.perf_counter())
            await self._in_thread(self._begin, cut)
        self._task = tasks.beside(self._go_on(), f"snapshot of {self._model.config.name}")

    async def end(self) -> None:
        """Wait for the end of the one under way."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def before(self, events: Sequence[Event]) -> None:
        """Write what the snapshot under way still lacks of the sites that events are about to change."""
        checkpoint = self._model.sites.checkpoint
        if any(isinstance(event, ConfigChanged) for event in events):  # these change all sites
            await self.write(checkpoint.pending)
        else:
            await self.write(checkpoint.pending_of([getattr(event, "site", "") for event in events]))

    async def write(self, sites: Sequence[str]) -> None:
        """Write sites that the snapshot under way still lacks."""
        if sites:
            await self._in_thread(self._model.sites.checkpoint.copy_on_write, sites)

    async def _go_on(self) -> None:
        """Write some sites at a time; when none is left, the snapshot is whole."""
        checkpoint = self._model.sites.checkpoint
        while self._cut is not None and not self.is_over:
            some = checkpoint.some(_SLICE_BYTES, self._sites.is_free)
            if checkpoint.pending and not some:
                await self._sites.changed()
                continue
            async with self._sites.beside(some):
                await (self.write(some) if some else self._in_thread(self._finish, self._cut))

    def _begin(self, cut: _Cut) -> None:
        checkpoint = self._model.sites.checkpoint
        checkpoint.begin()
        cut.core = b"".join(packed_in_pieces(self._model.core_state()))
        if self._log.needs_whole_snapshots:
            checkpoint.copy_on_write(checkpoint.pending)
            self._commit(cut)
            state = b"".join(packed_in_pieces(self._model.to_state()))
            self._metrics.log_bytes_cut.inc(self._log.save(Snapshot(cut.seq, state)))

    def _commit(self, cut: _Cut) -> None:
        self._log.states.commit(cut.seq, cut.core)
        cut.is_made = True

    def _finish(self, cut: _Cut) -> None:
        if not cut.is_made:
            self._commit(cut)
        self._cut, self._has_failed = None, False
        self._model.sites.checkpoint.end()
        self._metrics.snapshot_seconds.observe(time.perf_counter() - cut.began_s)

    async def _in_thread(self, call: Callable[..., None], *args: Any) -> None:
        try:
            await tasks.in_thread(self._executor, call, *args)
        except Exception:  # the one before still counts
            self._cut, self._has_failed = None, True
            self._model.sites.checkpoint.end()
            self._metrics.snapshot_failures.inc()
            name = self._model.config.name
            _log.exception("snapshot of %s failed; a restart replays more of the log", name)


def load_newest(model: ResidentCrawl, log: CrawlLog) -> None:
    """Take over the newest snapshot of a crawl, if there is any; blocks.

    Raises
    ------
    CorruptState
        If it is not one of this version.
    SiteLost
        If it is damaged; it is passed over the next time.
    NotFound
        If a policy of the crawl is not registered.
    """
    whole, states = log.snapshot(), log.states
    if whole is not None and whole.seq > states.seq:
        states.clear()
        model.load_state(msgpack.unpackb(whole.state, strict_map_key=False))
    elif states.seq:
        try:
            model.load_core(msgpack.unpackb(states.core(), strict_map_key=False), states.sites())
        except CorruptState as exc:
            states.clear()
            raise SiteLost(str(exc)) from exc
    else:
        return
    require_policies(model.config)


def require_policies(config: CrawlConfig) -> None:
    """Raise NotFound if a policy of a crawl is not registered."""
    for choice in (config.policy, *config.extra_policies):
        policy_class(choice.name)
