"""Sites are learned in a process of their own, so that calls keep the interpreter of the server."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

from linkscore_scoring.site.learning import LearnedSite, LearningJob, run
from linkscore_server.child_processes import child_processes

_log = logging.getLogger(__name__)

PAGES_HERE = 700
"""Pages that are learned from in the server before a process is started for it: learnings of 200 and 400
pages take .06 and .1 s of CPU (qa_q2a), starting a process .5 s, and its memory is some 50 MB."""


class LearningPool:
    """Runs learnings: the first, small ones in a thread, the others in processes, which come with them.

    A process that dies, or cannot be started, costs nothing: its learning is run in the thread.
    """

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
        except (OSError, RuntimeError) as exc:  # no more processes or memory, or the pool broke or is closed
            self._let_go(pool)
            _log.warning("%s is learned by the server itself: no process could learn it: %s", job.site, exc)
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
                self._pool = child_processes(self._processes)
            return self._pool

    def _let_go(self, pool: ProcessPoolExecutor | None) -> None:
        with self._lock:
            if self._pool is pool:
                self._pool = None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)
