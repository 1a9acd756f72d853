"""Sites are learned in processes beside the server, and by the server itself when there are none."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any

import pytest

from linkscore_scoring.clustering.templates import ClusterIdentities
from linkscore_scoring.hashing import hash64
from linkscore_scoring.site import learning
from linkscore_scoring.site.learning import LearningConfig, LearningJob, SampledPage, run
from linkscore_scoring.state import packed
from linkscore_scoring.testing.crawl import trie_of
from linkscore_server import tasks
from linkscore_server.crawls.learning import LearningPool

WAIT_S = 60.0


def job(pages: int = 120, clusterer: str = "cosine_linkage") -> LearningJob:
    """Return a site of as many lists as posts, each page with a link to the next."""
    kinds = (["html/body.list/ul/li/a"] * 3, ["html/body.post/h1/text()", "html/body.post/p/text()"])
    keys = [f"http://h.test/{n}" for n in range(pages)]
    hashes = [hash64(key) for key in keys]
    links = [([7], [hashes[(n + 1) % pages]]) for n in range(pages)]
    sampled = [SampledPage.of(n, keys[n], hashes[n], trie_of(kinds[n % 2]), *links[n]) for n in range(pages)]
    return LearningJob("h.test", pages, sampled, LearningConfig(clusterer), {}, ClusterIdentities())


@pytest.fixture
def make_pool() -> Iterator[Callable[..., LearningPool]]:
    made: list[LearningPool] = []

    def make(**options: Any) -> LearningPool:
        made.append(LearningPool(**options))
        return made[-1]

    yield make
    for pool in made:
        pool.close()


def test_small_learnings_start_no_process_until_they_add_up(make_pool: Callable[..., LearningPool]) -> None:
    pool = make_pool(pages_here=250)
    digests = {packed(pool.run(job()).to_state()) for _ in range(2)}
    assert not pool._pool
    digests.add(packed(pool.run(job()).to_state()))
    assert pool._pool
    assert digests == {packed(run(job()).to_state())}


async def test_learnings_of_several_calls_are_learned_elsewhere(
    make_pool: Callable[..., LearningPool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "learn", None)  # of this process: it could not learn
    pool = make_pool(pages_here=0)
    async with asyncio.timeout(WAIT_S):
        learned = await asyncio.gather(*(pool.learn(job(pages)) for pages in (80, 90)))
    assert [len(one.templates.sample) for one in learned] == [80, 90]


class NoMoreProcesses(ProcessPoolExecutor):
    """A pool whose first job waits for ever, and which cannot start a process for the next."""

    def __init__(self, *args: Any) -> None:
        self.first = Future[Any]()
        self.is_given = threading.Event()

    def submit(self, *args: Any, **fields: Any) -> Future[Any]:  # type: ignore[override]
        if self.is_given.is_set():
            raise OSError("no more processes")
        self.is_given.set()
        return self.first

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self.first.cancel()


def test_a_learning_that_waits_for_a_pool_which_is_let_go_is_learned_here(
    make_pool: Callable[..., LearningPool], monkeypatch: pytest.MonkeyPatch
) -> None:
    processes, digests = NoMoreProcesses(), list[bytes]()
    monkeypatch.setattr(tasks, "child_processes", lambda n: processes)
    pool = make_pool(processes=2, pages_here=0)
    first = threading.Thread(target=lambda: digests.append(packed(pool.run(job()).to_state())))
    first.start()
    processes.is_given.wait()
    digests.append(packed(pool.run(job()).to_state()))
    first.join()
    assert digests == [packed(run(job()).to_state())] * 2


def test_a_process_that_dies_costs_no_learning_and_the_next_has_another(
    make_pool: Callable[..., LearningPool], caplog: pytest.LogCaptureFixture
) -> None:
    pool = make_pool(pages_here=0)
    pool.run(job(20))
    processes = pool._pool._processes
    (pid,) = processes
    os.kill(pid, signal.SIGKILL)
    processes[pid].join(WAIT_S)
    assert packed(pool.run(job()).to_state()) == packed(run(job()).to_state())
    assert "is learned by the server itself" in caplog.text
    assert not pool._pool
    caplog.clear()
    pool.run(job(20))
    assert pool._pool
    assert not caplog.text
