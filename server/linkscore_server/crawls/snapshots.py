"""Snapshots of one crawl, written site by site between its events."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import msgpack

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import ConfigChanged, Event
from linkscore_scoring.errors import CorruptState
from linkscore_scoring.policies.registry import policy_class
from linkscore_server.observability.metrics import Metrics
from linkscore_server.pieces import packed_in_pieces
from linkscore_server.residency import ResidentCrawl
from linkscore_server.storage.base import CrawlLog, Snapshot
from linkscore_server.storage.sites import SiteLost

_log = logging.getLogger(__name__)
_SLICE_BYTES = 1 << 19
"""Memory of sites that are written before events are applied again: of 2 MiB an event waited 44 ms (p50)."""


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
    core: bytes | None = None
    is_made: bool = False


class SnapshotWriter:
    """Makes cuts of a crawl, see ADR 19. Its calls go one after the other, while no event is applied.

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
        Held while one is written: no event is applied meanwhile.

    Attributes
    ----------
    last_seq
        Number of the last event of the newest one, or of one that was tried.
    is_over
        Whether no more are written: the crawl is deleted.
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
    ) -> None:
        self._model = model
        self._log = log
        self._executor = executor
        self._metrics = metrics
        self._every, self._every_s, self._turn = every, every_s, turn
        self._first_s = math.inf  # when the first event that is in no snapshot was seen
        self._has_failed = False
        self._cut: _Cut | None = None
        self.last_seq = 0
        self.is_over = False

    @property
    def is_under_way(self) -> bool:
        """Whether a snapshot was begun and is not whole."""
        return self._cut is not None

    @property
    def is_due(self) -> bool:
        """Whether there were so many events since the last one, or any for so long."""
        if (new := self._model.seq - self.last_seq) == 0:
            return False
        if self._model.writes_states:
            return new >= self._every * _STATES_COST
        if self._has_failed:  # on a full disk each would fail, and leave a traceback in the log
            return new >= self._every
        now = asyncio.get_running_loop().time()
        self._first_s = min(now, self._first_s)
        return new >= self._every or 0 < self._every_s <= now - self._first_s

    def begin(self) -> bool:
        """Begin one of the crawl as it is now, if that is news; the next `step` must come before an event."""
        if self._model.seq == self.last_seq or self.is_over:
            return False
        self.last_seq = self._model.seq  # one that fails is tried again after as many events
        self._first_s = math.inf
        self._cut = _Cut(self._model.seq, time.perf_counter())
        return True

    async def go_on(self, until: Callable[[], bool] = lambda: False) -> None:
        """Go on with the one under way to its end, or until something holds after a step."""
        while self.is_under_way and not self.is_over:
            async with self._turn:
                await self.step()
            if until():
                return

    async def step(self) -> None:
        """Write some sites of the snapshot under way; when none is left, it is whole."""
        await self._in_thread(self._step)

    async def before(self, events: Sequence[Event]) -> None:
        """Write what the snapshot under way still lacks of the sites that events are about to change."""
        if self._cut is None:
            return
        if any(isinstance(event, ConfigChanged) for event in events):  # these change all sites
            while self._cut is not None and not self._cut.is_made:
                await self.step()
        elif due := self._model.sites.checkpoint.pending_of([getattr(event, "site", "") for event in events]):
            await self._in_thread(self._model.sites.checkpoint.copy_on_write, due)

    def _step(self) -> None:
        cut, sites = self._cut, self._model.sites.checkpoint
        if cut is None:
            return
        if cut.core is None:
            sites.begin()
            cut.core = b"".join(packed_in_pieces(self._model.core_state()))
        if not cut.is_made:
            # What a log is cut by is the whole crawl, and of the same event.
            sites.write_some(math.inf if self._log.needs_whole_snapshots else _SLICE_BYTES)
            if not sites.pending:
                self._log.states.commit(cut.seq, cut.core)
                cut.is_made = True
        if cut.is_made and self._log.share():
            self._cut = None
            sites.end()
            self._save_whole(cut.seq)
            self._has_failed = False
            self._metrics.snapshot_seconds.observe(time.perf_counter() - cut.began_s)

    def _save_whole(self, seq: int) -> None:
        if self._log.needs_whole_snapshots:
            state = b"".join(packed_in_pieces(self._model.to_state()))
            self._metrics.log_bytes_cut.inc(self._log.save(Snapshot(seq, state)))

    async def _in_thread(self, call: Callable[..., None], *args: Any) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(self._executor, call, *args)
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
