"""Work on all cores: results in input order, a bounded number of items under way."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any, TypeVar

_In = TypeVar("_In")
_Out = TypeVar("_Out")
# Items under way for each process: one at work, two waiting. Chosen, not measured.
_PER_WORKER = 3
_work: Callable[[Any], Any] = id


def cores() -> int:
    """Return how many processes may work at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spread(work: Callable[[_In], _Out], items: Iterable[_In], workers: int) -> Iterator[_Out]:
    """Yield ``work(item)`` for each item in order, computed by `workers` forked processes; 1 forks none.

    `work` and what it holds is there in the workers without being sent; items and results are sent.
    """
    global _work
    if workers <= 1:
        yield from map(work, items)
        return
    _work = work
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("fork")) as pool:
        pending: deque[Future[_Out]] = deque()
        try:
            for item in items:
                pending.append(pool.submit(_call, item))
                if len(pending) >= _PER_WORKER * workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _call(item: Any) -> Any:
    return _work(item)
