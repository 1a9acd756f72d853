"""Sites are learned beside their events, large ones in a process of its own, and activated as one of them."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, ProcessPoolExecutor, ThreadPoolExecutor

from linkscore_scoring.engine.events import Event, LearningFailed, ModelActivated
from linkscore_scoring.engine.results import Outcome
from linkscore_scoring.errors import LinkscoreError
from linkscore_scoring.site.learning import LearnedSite, LearningJob, run
from linkscore_server import tasks
from linkscore_server.observability import Metrics
from linkscore_server.store import StoreAway

_log = logging.getLogger(__name__)

_AGAIN_S = 1.0
"""After how long a failed learning is told again where the disk is full. Chosen."""


class CrawlClosed(LinkscoreError):
    """The crawl was deleted, or the server stops: nothing more is taken in."""


PAGES_HERE = 700
"""Pages that are learned from in the server before a process is started for it: learnings of 200 and 400
pages take .06 and .1 s of CPU (qa_q2a), starting a process .5 s, and its memory is some 50 MB."""


class LearningPool:
    """Runs learnings: the first, small ones in a thread, the others in processes."""

    def __init__(self, processes: int = 1, *, pages_here: int = PAGES_HERE) -> None:
        self._processes, self._pages_left = processes, pages_here
        self._threads = ThreadPoolExecutor(max(1, processes), thread_name_prefix="linkscore-learn")
        self._lock = threading.Lock()  # of what follows
        self._pool: ProcessPoolExecutor | None = None
        self._is_closed = False

    async def learn(self, job: LearningJob) -> LearnedSite:
        """Learn a site, when those before it are learned."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.run, job)

    def run(self, job: LearningJob) -> LearnedSite:
        """Learn a site; blocks."""
        pool = self._pool_for(len(job.pages))
        if pool is None:
            return run(job)
        try:
            return pool.submit(run, job).result()
        # No more processes or memory, or the pool broke or is closed; or another learning let it go.
        except (OSError, RuntimeError, CancelledError) as exc:
            self._let_go(pool)
            _log.warning("%s is learned by the server itself: no process could learn it: %r", job.site, exc)
            return run(job)

    def close(self) -> None:
        """Let threads and processes go; learnings that wait are cancelled."""
        self._is_closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._let_go(self._pool)

    def _pool_for(self, pages: int) -> ProcessPoolExecutor | None:
        with self._lock:
            self._pages_left -= pages
            if self._pool is None and self._processes and self._pages_left < 0 and not self._is_closed:
                self._pool = tasks.child_processes(self._processes)
            return self._pool

    def _let_go(self, pool: ProcessPoolExecutor | None) -> None:
        with self._lock:
            if self._pool is pool:
                self._pool = None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)


Submit = Callable[[Event, LearnedSite | None], "asyncio.Future[list[Outcome | Exception]]"]
"""Takes an event in, see `CrawlActor.submit_all`."""


class Learnings:
    """Runs the learnings of a crawl; each ends as an event: the model is active, or it failed."""

    def __init__(
        self, crawl: str, *, pool: LearningPool, executor: Executor, metrics: Metrics, submit: Submit
    ) -> None:
        self._crawl, self._pool, self._executor = crawl, pool, executor
        self._metrics, self._submit = metrics, submit
        self.running: dict[tuple[str, int], asyncio.Task[Exception | None]] = {}
        self._failures: set[asyncio.Task[None]] = set()

    def start(self, job: LearningJob) -> None:
        """Begin one."""
        key = (job.site, job.built_from_seq)
        if key in self.running:
            return
        task = self.running[key] = tasks.beside(self._run(job), f"learning of {job.site}")
        task.add_done_callback(lambda _: self.running.pop(key, None))

    def cancel(self) -> None:
        """End all; they are due again when the crawl is opened."""
        for task in (*self.running.values(), *self._failures):
            task.cancel()

    async def wait(self, site: str, started_at: int) -> Exception | None:
        """Wait for one that began at an event; returns why it failed, None if it did not or ended before."""
        task = self.running.get((site, started_at))
        if task is None:
            return None
        await asyncio.wait([task])
        return CrawlClosed(f"crawl {self._crawl!r} is closed") if task.cancelled() else task.result()

    async def _run(self, job: LearningJob) -> Exception | None:
        """Learn and activate; returns why that failed."""
        started = time.perf_counter()
        try:
            learned = await self._pool.learn(job)
            state = await asyncio.get_running_loop().run_in_executor(self._executor, learned.to_state)
            event = ModelActivated(job.site, job.built_from_seq, state)
            self._metrics.of("learning").observe(time.perf_counter() - started)
            await self._take_in(event, learned)
        except (CrawlClosed, StoreAway) as exc:  # it starts again when the crawl is open again
            return exc
        except Exception as exc:
            self._metrics.of("learning_failures").inc()
            _log.exception("learning of %s failed; the site goes on without a new model", job.site)
            await self._tell_failure(job)
            return exc
        return None

    async def _tell_failure(self, job: LearningJob, after_s: float = 0.0) -> None:
        """Let the site learn again, as soon as that can be made durable."""
        await asyncio.sleep(after_s)
        try:
            await self._take_in(LearningFailed(job.site, job.built_from_seq))
        except OSError:  # the disk is full: who waits for the learning hears of it meanwhile
            tasks.beside(self._tell_failure(job, _AGAIN_S), f"failed learning of {job.site}", self._failures)
        except (CrawlClosed, StoreAway) as exc:
            _log.debug("%s is learned again when its crawl is open again: %s", job.site, exc)

    async def _take_in(self, event: Event, learned: LearnedSite | None = None) -> None:
        """Take an event in; raises what applying it failed with."""
        [outcome] = await self._submit(event, learned)
        if isinstance(outcome, Exception):
            raise outcome
