"""The learnings of a crawl: run beside its events, and activated as one of them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor

from linkscore_scoring.engine.events import Event, LearningFailed, ModelActivated
from linkscore_scoring.engine.results import Outcome
from linkscore_scoring.errors import LinkscoreError
from linkscore_scoring.site.learning import LearnedSite, LearningJob
from linkscore_server import tasks
from linkscore_server.crawls.learning_pool import LearningPool
from linkscore_server.observability.metrics import Metrics
from linkscore_server.store import StoreAway

_log = logging.getLogger(__name__)

_AGAIN_S = 5.0
"""After how long a failed learning is told again where the disk is full. Chosen."""


class CrawlClosed(LinkscoreError):
    """The crawl was deleted, or the server stops: nothing more is taken in."""


Submit = Callable[[Event, LearnedSite | None], "asyncio.Future[list[Outcome | Exception]]"]
"""Takes an event in, see `CrawlActor.submit_all`."""


class Learnings:
    """Runs the learnings of a crawl; each ends as an event: the model is active, or it failed."""

    def __init__(
        self, crawl: str, *, pool: LearningPool, executor: Executor, metrics: Metrics, submit: Submit
    ) -> None:
        self._crawl, self._pool, self._executor = crawl, pool, executor
        self._metrics, self._submit = metrics, submit
        self._running: dict[tuple[str, int], asyncio.Task[Exception | None]] = {}
        self._failures: set[asyncio.Task[None]] = set()

    @property
    def is_under_way(self) -> bool:
        """Whether one runs."""
        return bool(self._running)

    def start(self, job: LearningJob) -> None:
        """Begin one."""
        key = (job.site, job.built_from_seq)
        if key in self._running:
            return
        task = self._running[key] = tasks.beside(self._run(job), f"learning of {job.site}")
        task.add_done_callback(lambda _: self._running.pop(key, None))

    def is_running(self, site: str, started_at: int) -> bool:
        """Say whether one runs that began at an event."""
        return (site, started_at) in self._running

    def cancel(self) -> None:
        """End all; they are due again when the crawl is opened."""
        for task in (*self._running.values(), *self._failures):
            task.cancel()

    async def wait(self, site: str, started_at: int) -> Exception | None:
        """Wait for one that began at an event; returns why it failed, None if it did not or ended before."""
        task = self._running.get((site, started_at))
        if task is None:
            return None
        await asyncio.wait([task])
        return CrawlClosed(f"crawl {self._crawl!r} is closed") if task.cancelled() else task.result()

    async def _run(self, job: LearningJob) -> Exception | None:
        """Learn and activate; returns why that failed."""
        started = time.perf_counter()
        try:
            learned = await self._pool.learn(job)
            event = await asyncio.get_running_loop().run_in_executor(
                self._executor, _activation, job, learned
            )
            self._metrics.learning_seconds.observe(time.perf_counter() - started)
            await self._take_in(event, learned)
        except (CrawlClosed, StoreAway) as exc:  # it starts again when the crawl is open again
            return exc
        except Exception as exc:
            self._metrics.learning_failures.inc()
            _log.exception("learning of %s failed; the site goes on without a new model", job.site)
            if not await self._told_failure(job):  # the disk is full
                tasks.beside(self._tell_failure(job), f"failed learning of {job.site}", self._failures)
            return exc
        return None

    async def _tell_failure(self, job: LearningJob) -> None:
        """Let the site learn again, as soon as that can be made durable."""
        while not await self._told_failure(job):
            await asyncio.sleep(_AGAIN_S)

    async def _told_failure(self, job: LearningJob) -> bool:
        try:
            await self._take_in(LearningFailed(job.site, job.built_from_seq))
        except OSError:
            return False
        except (CrawlClosed, StoreAway):  # it starts again when the crawl is open again
            return True
        return True

    async def _take_in(self, event: Event, learned: LearnedSite | None = None) -> None:
        """Take an event in; raises what applying it failed with."""
        [outcome] = await self._submit(event, learned)
        if isinstance(outcome, Exception):
            raise outcome


def _activation(job: LearningJob, learned: LearnedSite) -> ModelActivated:
    return ModelActivated(job.site, job.built_from_seq, learned.to_state())
