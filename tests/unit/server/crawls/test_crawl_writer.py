"""The single writer: groups events, answers in order, applies nothing that is not durable."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import ConfigChanged, FeedbackGiven
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.learning_pool import LearningPool
from linkscore_server.crawls.writer import CrawlClosed
from linkscore_server.observability.metrics import Metrics
from linkscore_server.residency import ResidentCrawl
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
    model = ResidentCrawl(CrawlConfig("a"), ticket_key=b"key")
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


async def test_a_writer_that_ends_fails_who_waits_and_has_the_crawl_opened_again(
    log: FillingLog, caplog: pytest.LogCaptureFixture
) -> None:
    with ThreadPoolExecutor(1) as executor:
        actor = make_actor(log, executor)
        actor.start()
        assert await actor.submit(feedback(0)) is True

        async def apply_group(_: object) -> None:
            raise RuntimeError("nobody thought of this")

        actor.writer._apply_group = apply_group  # type: ignore[method-assign, assignment]
        under_way = [asyncio.create_task(actor.submit(feedback(n))) for n in range(1, 9)]
        outcomes = await asyncio.wait_for(asyncio.gather(*under_way, return_exceptions=True), 30)
        assert [type(outcome) for outcome in outcomes] == [CrawlClosed] * 8
        assert actor.is_lost
        assert not actor.is_sound
        assert "writer of crawl a failed" in caplog.text
        assert "nobody thought of this" in caplog.text
        with pytest.raises(CrawlClosed, match="opened again"):
            await asyncio.wait_for(actor.submit(feedback(9)), 30)
        await asyncio.wait_for(actor.discard(), 30)


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "Too many open files"), MemoryError()])
async def test_a_machine_that_is_short_of_something_does_not_part_the_state_from_its_log(
    log: FillingLog, error: Exception
) -> None:
    """What an event fails with is part of the state as long as a replay meets it too; this it would not."""
    with ThreadPoolExecutor(1) as executor:
        actor = make_actor(log, executor)
        actor.start()

        def apply(seq: int, event: object, learned: object = None, raw: object = None) -> None:
            raise error

        actor.model.apply = apply  # type: ignore[method-assign, assignment]
        with pytest.raises(CrawlClosed):
            await asyncio.wait_for(actor.submit(feedback(1)), 30)
        assert actor.is_lost
        await actor.discard()
        again = make_actor(log, executor)
        again.recover()
        assert again.model.feedbacks == 1


async def test_an_event_that_is_sent_again_is_answered_and_not_written_again(
    actor: CrawlActor, log: FillingLog
) -> None:
    first = await asyncio.gather(*(actor.submit(feedback(n)) for n in range(5)))
    before, written = actor.model.to_state(), log.last_seq
    log.full = True  # nothing is to be written, so a disk that takes nothing is no matter
    again = await asyncio.gather(*(actor.submit(feedback(n)) for n in range(5)))
    assert (first, again) == ([True] * 5, [False] * 5)
    assert log.last_seq == written
    assert actor.model.to_state() == before
    log.full = False


@pytest.mark.parametrize("sizes", [[1] * 12, [4, 4, 4], [12]])
async def test_of_repeats_in_one_group_the_first_is_written_and_a_replay_gives_the_same_state(
    actor: CrawlActor, log: FillingLog, sizes: list[int]
) -> None:
    await actor.submit(ConfigChanged(CrawlConfig("a").to_state()))
    events = [feedback(n % 5) for n in range(12)]
    calls = []
    for size in sizes:
        calls.append(actor.submit_all(events[:size]))
        events = events[size:]
    outcomes = [one for group in await asyncio.gather(*calls) for one in group]
    assert outcomes == [True] * 5 + [False] * 7
    assert log.last_seq == 6
    with ThreadPoolExecutor(1) as executor:
        again = make_actor(log, executor)
        assert again.recover() == 6
    assert again.model.to_state() == actor.model.to_state()
