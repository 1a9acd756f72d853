"""Crawls opened: from the store's snapshot and log to an actor, with the threads that all of them share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.errors import CorruptState
from linkscore_scoring.features.types import Words
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.embeddings import Embeddings
from linkscore_server.crawls.learning_pool import LearningPool
from linkscore_server.crawls.libraries import load_libraries
from linkscore_server.crawls.memory import MemoryKeeper
from linkscore_server.crawls.turns import OpeningOrder
from linkscore_server.observability.metrics import Metrics
from linkscore_server.observability.tracing import Tracing
from linkscore_server.residency import ResidentCrawl
from linkscore_server.settings import Settings
from linkscore_server.storage.base import Store
from linkscore_server.storage.sites import SiteLost
from linkscore_server.storage.space import SpaceAlarm

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_OPENINGS = 1_024
"""Threads for crawls being opened, of which few work at a time: none may stand in the way of one that is
asked for. A bound; each is begun when it is needed."""
_QUESTIONS_AT_ONCE = 2
"""Big questions answered at a time: beside the event loop they share one interpreter."""


class Threads:
    """Where the crawls of a process block. Commits wait for nothing else: all other work has its own.

    Parameters
    ----------
    store
        Says how much is worth doing at a time.
    learning_processes
        Processes that learn sites, see `LearningPool`.

    Attributes
    ----------
    order
        Which crawls are opened first.
    log
        Commits, and what is quick.
    learning
        Learnings, in processes beside this one.
    opening
        Crawls being opened: as many as may wait for their turn, see `OpeningOrder`.
    questions
        Big questions.
    snapshots
        Snapshots, and sites being evicted.
    """

    def __init__(self, store: Store, learning_processes: int) -> None:
        opens_at_once = store.opens_at_once
        self.log = ThreadPoolExecutor(store.appends_at_once, thread_name_prefix="linkscore-log")
        self.learning = LearningPool(learning_processes)
        self.opening = ThreadPoolExecutor(max_workers=_OPENINGS, thread_name_prefix="linkscore-open")
        self.order = OpeningOrder(opens_at_once)
        self.questions = ThreadPoolExecutor(
            max_workers=_QUESTIONS_AT_ONCE, thread_name_prefix="linkscore-ask"
        )
        self.snapshots = ThreadPoolExecutor(max_workers=opens_at_once, thread_name_prefix="linkscore-sites")

    def close(self) -> None:
        """Wait for what they do, but for learnings."""
        for executor in (self.log, self.opening, self.snapshots, self.questions):
            executor.shutdown()
        self.learning.close()


class CrawlOpener:
    """Makes actors of new crawls, and of those that the store has. Its calls block, but for `in_thread`.

    Parameters
    ----------
    store
        Has their logs.
    settings, metrics, tracing
        Of the server.
    threads
        Where the actors block.
    memory
        Keeps the sites of all within their bound.
    space
        Says whether the disk has room.
    embeddings
        Those that crawls may name.
    domain_of
        Gives the registrable domain of a host.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        metrics: Metrics,
        tracing: Tracing,
        *,
        threads: Threads,
        memory: MemoryKeeper,
        space: SpaceAlarm,
        embeddings: Embeddings,
        domain_of: Callable[[str], str] | None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._metrics = metrics
        self._tracing = tracing
        self._threads = threads
        self._memory = memory
        self._space = space
        self._embeddings = embeddings
        self._domain_of = domain_of
        self.before_serving: list[Callable[[str, CrawlModel], None]] = []

    def new(self, name: str, config: CrawlConfig) -> CrawlActor:
        """Return a crawl that has no events yet, or whose log is still to be read; blocks."""
        log = self._store.open(name)
        model = ResidentCrawl(
            config,
            ticket_key=self._store.ticket_key(),
            domain_of=self._domain_of,
            store=log.states,
            budget=self._memory.budget,
        )
        return CrawlActor(
            model,
            log,
            executor=self._threads.log,
            learner=self._threads.learning,
            background=self._threads.snapshots,
            reader=self._threads.questions,
            metrics=self._metrics,
            snapshot_events=self._settings.snapshot_events,
            snapshot_s=self._settings.snapshot_s,
            tracing=self._tracing,
            make_room=self._memory.make_room,
            space=self._space,
            key=name,
        )

    def recovered(self, name: str) -> CrawlActor | None:
        """Return a crawl as its log says; None if its creation was never acknowledged. Blocks.

        Raises
        ------
        CorruptState
            If its log is damaged, or that of another crawl.
        OSError
            If it cannot be read now.
        CrawlOpening
            If the server stops meanwhile.
        """
        with self._threads.order.opening(name):
            return self._recovered(name)

    def _recovered(self, name: str) -> CrawlActor | None:
        actor, replayed = self._replayed(name)
        if not actor.model.seq:
            actor.release()
            self._store.forget(name)
            return None
        self._released_unless(actor, partial(self._check_recovered, name, actor.model))
        _log.info("crawl %s: %d events, %d replayed", name, actor.model.seq, replayed)
        return actor

    def _replayed(self, name: str) -> tuple[CrawlActor, int]:
        """Return a crawl and how many events were replayed: those after a snapshot, else all."""
        with_snapshot, lost = True, False
        while True:
            actor = self.new(name, CrawlConfig(Shard.of(name).crawl))
            try:
                return actor, self._released_unless(
                    actor,
                    partial(
                        actor.recover,
                        with_snapshot=with_snapshot,
                        go_on=partial(self._threads.order.go_on, name),
                    ),
                )
            except (CorruptState, SiteLost) as exc:
                if not with_snapshot:
                    raise
                # A file of states that is damaged is gone by now, and there may be a whole snapshot.
                with_snapshot, lost = isinstance(exc, SiteLost) and not lost, True
                _log.warning("crawl %s: %s; replaying more of the log", name, exc)

    @staticmethod
    def _released_unless(actor: CrawlActor, call: Callable[[], _T]) -> _T:
        """Make a call; if it fails, let go of the actor's files."""
        try:
            return call()
        except BaseException:
            actor.release()
            raise

    def _check_recovered(self, name: str, model: CrawlModel) -> None:
        if (own := Shard(model.config.name, Shard.of(name).group, model.config.groups).key) != name:
            raise CorruptState(
                f"the folder holds crawl {own!r}, whose visits and tickets go by that name: rename it back, "
                "or move crawls with `linkscore data export` and `linkscore data import`"
            )
        self.load_libraries(model.config)
        for heard in self.before_serving:
            heard(name, model)

    async def in_thread(self, call: Callable[..., _T], *args: object) -> _T:
        """Make a call that blocks for a moment."""
        return await asyncio.get_running_loop().run_in_executor(self._threads.log, call, *args)

    def load_libraries(self, config: CrawlConfig) -> None:
        """Import what a crawl would import while it serves, and load its embedding; blocks."""
        load_libraries(config)
        if Words.EXCERPT in config.words and config.wanted is not None:
            self._embeddings.load(config.wanted.embedding)
