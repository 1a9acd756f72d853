"""The single writer: groups events, answers in order, applies nothing that is not durable."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged, FeedbackGiven
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.learning_pool import LearningPool
from linkscore_server.observability.metrics import Metrics
from linkscore_server.storage.memory import MemoryLog


class FillingLog(MemoryLog):
    """Keeps its events; fails while told to."""

    def __init__(self) -> None:
        super().__init__(keep=True)
        self.full = False

    def append(self, events: Sequence[bytes]) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().append(events)


def make_actor(log: FillingLog, executor: ThreadPoolExecutor) -> CrawlActor:
    model = CrawlModel(CrawlConfig("a"), ticket_key=b"key")
    return CrawlActor(model, log, executor=executor, learner=LearningPool(processes=0), metrics=Metrics())


@pytest.fixture
def log() -> FillingLog:
    return FillingLog()


@pytest.fixture
async def actor(log: FillingLog) -> AsyncIterator[CrawlActor]:
    with ThreadPoolExecutor(1) as executor:
        actor = make_actor(log, executor)
        actor.start()
        yield actor
        await actor.close()


def feedback(n: int) -> FeedbackGiven:
    return FeedbackGiven(f"f{n}", "h", f"http://h/{n}", b"", 1.0, 0.0)


async def test_answers_come_in_the_order_of_submission(actor: CrawlActor) -> None:
    done: list[int] = []

    async def one(n: int) -> None:
        await actor.submit(feedback(n))
        done.append(n)

    await asyncio.gather(*map(one, range(30)))
    assert done == list(range(30))
    assert actor.model.seq == 30


async def test_the_second_of_two_equal_event_ids_is_not_new(actor: CrawlActor) -> None:
    outcomes = await asyncio.gather(actor.submit(feedback(1)), actor.submit(feedback(1)))
    assert outcomes == [True, False]


async def test_a_full_disk_reaches_every_caller_and_nothing_is_applied(
    actor: CrawlActor, log: FillingLog
) -> None:
    await actor.submit(ConfigChanged(CrawlConfig("a").to_state()))
    before = actor.model.to_state()
    log.full = True
    outcomes = await asyncio.gather(*(actor.submit(feedback(n)) for n in range(5)), return_exceptions=True)
    assert [getattr(error, "errno", None) for error in outcomes] == [errno.ENOSPC] * 5
    assert actor.model.to_state() == before
    log.full = False
    assert await actor.submit(feedback(1)) is True
    assert actor.model.seq == 2


async def test_what_was_acknowledged_is_there_after_recovery(actor: CrawlActor, log: FillingLog) -> None:
    await actor.submit(ConfigChanged(CrawlConfig("a").to_state()))
    await asyncio.gather(*(actor.submit(feedback(n)) for n in range(10)))
    with ThreadPoolExecutor(1) as executor:
        again = make_actor(log, executor)
        assert again.recover() == 11
    assert again.model.to_state() == actor.model.to_state()
