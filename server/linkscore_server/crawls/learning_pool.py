"""Sites are learned in a process of their own, so that calls keep the interpreter of the server."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from linkscore_scoring.site.learning import LearnedSite, LearningJob, run
from linkscore_server.child_processes import child_processes

_log = logging.getLogger(__name__)

PAGES_HERE = 700
"""Pages that are learned from in the server before a process is started for it: learnings of 200 and 400
pages take .06 and .1 s of CPU (qa_q2a), starting a process .5 s, and its memory is some 50 MB."""

IDLE_S = 60.0
"""Seconds without a learning after which the processes go; chosen, not measured."""


class LearningPool:
    """Runs learnings: the first, small ones in a thread, others in processes that come when needed and go.

    A process that dies, or cannot be started, costs nothing: its learning is run in the thread.
    """

    def __init__(self, processes: int = 1, *, pages_here: int = PAGES_HERE, idle_s: float = IDLE_S) -> None:
        self._processes = processes
        self._pages_here = pages_here
        self._idle_s = idle_s
        self._threads = ThreadPoolExecutor(max(1, processes), thread_name_prefix="linkscore-learn")
        self._lock = threading.Lock()  # of what follows
        self._pool: ProcessPoolExecutor | None = None
        self._pages = self._running = 0
        self._rest: threading.Timer | None = None
        self._closed = False

    async def learn(self, job: LearningJob) -> LearnedSite:
        """Learn a site, when those before it are learned."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.run, job)

    def run(self, job: LearningJob) -> LearnedSite:
        """Learn a site; blocks."""
        pool = self._begun(len(job.pages))
        try:
            return run(job) if pool is None else self._run_in(pool, job)
        finally:
            self._ended()

    def close(self) -> None:
        """Let threads and processes go; learnings that wait are cancelled."""
        with self._lock:
            self._closed = True
            if self._rest is not None:
                self._rest.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._let_go(self._pool)

    def _run_in(self, pool: ProcessPoolExecutor, job: LearningJob) -> LearnedSite:
        try:
            learned = pool.submit(run, job)
        except (OSError, RuntimeError) as exc:  # no more processes or memory, or the pool broke or is closed
            return self._run_after(exc, pool, job)
        try:
            return learned.result()
        except BrokenProcessPool as exc:
            return self._run_after(exc, pool, job)

    def _run_after(self, exc: Exception, pool: ProcessPoolExecutor, job: LearningJob) -> LearnedSite:
        self._let_go(pool)
        _log.warning("%s is learned by the server itself: no process could learn it: %s", job.site, exc)
        return run(job)

    def _begun(self, pages: int) -> ProcessPoolExecutor | None:
        """Return the processes for a learning that begins; None: it is run here."""
        with self._lock:
            self._running += 1
            if self._rest is not None:
                self._rest.cancel()
            self._pages += pages
            if self._pool is None and self._processes and self._pages > self._pages_here and not self._closed:
                self._pool = child_processes(self._processes)
            return self._pool

    def _ended(self) -> None:
        with self._lock:
            self._running -= 1
            if not self._running and not self._closed:
                self._rest = threading.Timer(self._idle_s, self._go_to_rest)
                self._rest.daemon = True
                self._rest.start()

    def _go_to_rest(self) -> None:
        with self._lock:
            if self._running:
                return
            pool, self._pages = self._pool, 0
        self._let_go(pool)

    def _let_go(self, pool: ProcessPoolExecutor | None) -> None:
        with self._lock:
            if self._pool is pool:
                self._pool = None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)
