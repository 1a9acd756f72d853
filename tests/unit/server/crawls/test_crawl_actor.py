"""The writer of a crawl when things go wrong: failing learnings, a failing log, a crawl that is closed."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.events import ConfigChanged, FeedbackGiven, PageFetched, encode
from linkscore_scoring.errors import NotFound
from linkscore_scoring.features.types import Limits
from linkscore_scoring.site.learning import LearnedSite, LearningConfig, LearningJob
from linkscore_scoring.site.model import Stage
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.learning_pool import LearningPool
from linkscore_server.crawls.writer import CrawlClosed
from linkscore_server.grpc.convert.pages import PageParser
from linkscore_server.observability.metrics import Metrics
from linkscore_server.residency import ResidentCrawl
from linkscore_server.storage.memory import MemoryLog
from support.small_site import HOST, page

CONFIG = CrawlConfig("c", learning=LearningConfig(sample_pages=8))


def fetched(n: int) -> PageFetched:
    return PageParser(Limits(), lambda: 1e9 + n).event(page(n), lambda _: HOST)


class SlowLog(MemoryLog):
    """Waits before every append until it is let go; fails while `error` is set."""

    def __init__(self) -> None:
        super().__init__(keep=True)
        self.free = threading.Event()
        self.free.set()
        self.asked = threading.Event()
        self.error: Exception | None = None

    def append(self, events: Sequence[bytes]) -> None:
        if not self.free.is_set():
            self.asked.set()
        assert self.free.wait(30)
        if self.error is not None:
            raise self.error
        super().append(events)


@pytest.fixture
def log() -> SlowLog:
    return SlowLog()


class Learner(LearningPool):
    """A thread that learns; it fails as often as `failures` says, and waits until it may go on."""

    def __init__(self) -> None:
        super().__init__(processes=0)
        self.failures = 0
        self.free = threading.Event()
        self.free.set()
        self.sizes: list[int] = []

    def run(self, job: LearningJob) -> LearnedSite:
        self.sizes.append(len(job.pages))
        assert self.free.wait(30)
        if self.failures:
            self.failures -= 1
            raise ArithmeticError("the clusterer gave up")
        return super().run(job)


@pytest.fixture
def learner() -> Learner:
    return Learner()


def actor_on(log: MemoryLog, *, learner: LearningPool | None = None, **options: Any) -> CrawlActor:
    model = ResidentCrawl(CONFIG, ticket_key=b"k" * 32, store=log.states)
    pool = ThreadPoolExecutor(2)
    options = {"metrics": Metrics(), **options}
    return CrawlActor(model, log, executor=pool, learner=learner or LearningPool(processes=0), **options)


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
async def actor(log: SlowLog, learner: Learner, metrics: Metrics) -> AsyncIterator[CrawlActor]:
    made = actor_on(log, learner=learner, metrics=metrics)
    made.start()
    await made.submit(ConfigChanged(CONFIG.to_state()))
    yield made
    log.free.set()
    learner.free.set()
    with suppress(CrawlClosed):
        await made.submit(fetched(0))
        await made.close()


async def test_questions_do_not_wait_for_reads_whose_log_does_not_answer(
    log: SlowLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "confirm", log.free.wait)
    log.free.clear()
    actor = actor_on(log, reader=ThreadPoolExecutor(1))
    current = asyncio.create_task(actor.confirm())
    await asyncio.sleep(0)
    assert await actor.ask(lambda: "said") == "said"
    assert not current.done()
    log.free.set()
    await current


async def test_learning_that_fails_is_told_to_whoever_asked_for_it(
    actor: CrawlActor, learner: Learner
) -> None:
    learner.failures = 9
    await actor.submit(fetched(0))
    with pytest.raises(ArithmeticError, match="gave up"):
        await asyncio.wait_for(actor.learn(HOST), 30)


async def test_a_site_whose_learning_failed_can_learn_again(
    actor: CrawlActor, log: SlowLog, learner: Learner
) -> None:
    learner.failures = 1
    await actor.submit(fetched(0))
    with pytest.raises(ArithmeticError):
        await asyncio.wait_for(actor.learn(HOST), 30)
    assert actor.model.shard(HOST).model.stage == Stage.SAMPLING
    await asyncio.wait_for(actor.learn(HOST), 30)
    assert actor.model.shard(HOST).model.stage == Stage.READY
    again = actor_on(log)
    again.recover()
    assert again.model.to_state() == actor.model.to_state()


async def test_a_learning_that_ends_while_the_disk_is_full_leaves_no_site_learning_and_no_flood(
    actor: CrawlActor, log: SlowLog, learner: Learner
) -> None:
    await actor.submit(fetched(0))
    learner.free.clear()
    waiting = asyncio.create_task(actor.learn(HOST))
    while not learner.sizes:
        await asyncio.sleep(0)
    log.error = OSError(28, "No space left on device")
    before = log.last_seq
    learner.free.set()
    with pytest.raises(OSError, match="No space"):
        await asyncio.wait_for(waiting, 30)
    assert actor.model.shard(HOST).model.stage == Stage.SAMPLING
    with pytest.raises(OSError, match="No space"):
        await asyncio.wait_for(actor.learn(HOST), 30)
    log.error = None
    await actor.submit(fetched(1))
    assert log.last_seq == before + 2, "the failed learning, then the page"
    await asyncio.wait_for(actor.learn(HOST), 30)
    assert actor.model.shard(HOST).model.stage == Stage.READY
    again = actor_on(log)
    again.recover()
    assert again.model.to_state() == actor.model.to_state()


async def test_a_learning_that_failed_while_the_disk_was_full_is_in_the_log_of_a_crawl_that_is_closed(
    log: SlowLog, learner: Learner
) -> None:
    actor = actor_on(log, learner=learner)
    actor.start()
    await actor.submit(fetched(0))
    learner.free.clear()
    waiting = asyncio.create_task(actor.learn(HOST))
    while not learner.sizes:
        await asyncio.sleep(0)
    log.error = OSError(28, "No space left on device")
    before = log.last_seq
    learner.free.set()
    with pytest.raises(OSError, match="No space"):
        await asyncio.wait_for(waiting, 30)
    log.error = None
    await actor.close()
    assert log.last_seq == log.states.seq == before + 1


async def test_during_a_big_question_the_loop_is_free_and_no_event_is_applied(actor: CrawlActor) -> None:
    started, free = threading.Event(), threading.Event()

    def question() -> int:
        started.set()
        assert free.wait(30)
        return actor.model.pages

    asking = asyncio.create_task(actor.ask(question))
    async with asyncio.timeout(30):
        while not started.is_set():
            await asyncio.sleep(0)
    page = asyncio.create_task(actor.submit(fetched(0)))
    for _ in range(100):
        await asyncio.sleep(0.001)
    assert not page.done()
    free.set()
    assert await asking == 0
    await page
    assert actor.model.pages == 1


async def test_who_asks_while_an_older_learning_runs_gets_one_with_all_pages(
    actor: CrawlActor, learner: Learner
) -> None:
    learner.free.clear()
    await actor.submit(fetched(0))
    first = asyncio.create_task(actor.learn(HOST))
    while not learner.sizes:
        await asyncio.sleep(0)
    await actor.submit(fetched(1))
    second = asyncio.create_task(actor.learn(HOST))
    await actor.submit(fetched(2))
    learner.free.set()
    await asyncio.wait_for(asyncio.gather(first, second), 30)
    assert learner.sizes == [1, 3]


async def test_closing_a_crawl_answers_who_waits_for_its_learning(
    actor: CrawlActor, learner: Learner
) -> None:
    learner.free.clear()
    await actor.submit(fetched(0))
    waiting = asyncio.create_task(actor.learn(HOST))
    while not learner.sizes:
        await asyncio.sleep(0)
    await actor.discard()
    with pytest.raises(CrawlClosed):
        await asyncio.wait_for(waiting, 30)
    learner.free.set()


async def test_a_closed_crawl_takes_nothing_more_and_never_hangs(actor: CrawlActor, log: SlowLog) -> None:
    log.free.clear()
    under_way = [asyncio.create_task(actor.submit(fetched(n))) for n in range(3)]
    await asyncio.sleep(0)
    closing = asyncio.create_task(actor.close())
    await asyncio.sleep(0)
    with pytest.raises(CrawlClosed):
        await actor.submit(fetched(3))
    log.free.set()
    await asyncio.wait_for(closing, 30)
    assert [outcome.duplicate for outcome in await asyncio.gather(*under_way)] == [False] * 3


async def test_what_the_log_refuses_is_not_applied_and_the_crawl_goes_on(
    actor: CrawlActor, log: SlowLog
) -> None:
    log.error = OSError(28, "No space left on device")
    with pytest.raises(OSError, match="No space"):
        await actor.submit(fetched(0))
    assert (actor.model.pages, log.last_seq) == (0, 1)
    log.error = None
    assert not (await actor.submit(fetched(0))).duplicate
    assert (actor.model.pages, log.last_seq) == (1, 2)


async def test_events_gather_while_the_log_is_slow_and_are_written_at_once(
    actor: CrawlActor, log: SlowLog, metrics: Metrics
) -> None:
    log.free.clear()
    tasks = [asyncio.create_task(actor.submit(fetched(n))) for n in range(50)]
    await asyncio.sleep(0)
    log.free.set()
    outcomes = await asyncio.gather(*tasks)
    assert [outcome.seq for outcome in outcomes] == list(range(2, 52))
    commit = "linkscore_log_commit_duration_seconds"
    assert metrics.registry.get_sample_value(f"{commit}_sum") > 0
    assert metrics.registry.get_sample_value(f"{commit}_count") <= 4


async def test_who_gives_up_while_the_log_writes_loses_nothing(actor: CrawlActor, log: SlowLog) -> None:
    log.free.clear()
    waiting = asyncio.create_task(actor.submit(fetched(0)))
    while not log.asked.is_set():
        await asyncio.sleep(0)
    waiting.cancel()
    log.free.set()
    assert (await actor.submit(fetched(0))).duplicate
    assert actor.model.pages == 1


async def test_what_nobody_waits_for_any_more_is_dropped_before_it_is_durable(
    actor: CrawlActor, log: SlowLog
) -> None:
    log.free.clear()
    given_up = [asyncio.create_task(actor.submit(fetched(n))) for n in range(3)]
    await asyncio.sleep(0)
    for waiting in given_up[1:]:
        waiting.cancel()
    log.free.set()
    await given_up[0]
    assert (actor.model.pages, log.last_seq) == (1, 2)
    assert not (await actor.submit(fetched(1))).duplicate


async def test_a_snapshot_that_fails_does_not_stop_the_writer(
    log: SlowLog, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = actor_on(log, metrics=metrics, snapshot_events=1)
    made.start()
    monkeypatch.setattr(made.model, "core_state", lambda: {"x": object()})
    await made.submit(ConfigChanged(CONFIG.to_state()))
    assert not (await asyncio.wait_for(made.submit(fetched(0)), 30)).duplicate
    assert metrics.registry.get_sample_value("linkscore_snapshot_failures_total") >= 1
    await made.close()


@pytest.mark.parametrize("seconds", [0.0, 1e-9])
async def test_a_snapshot_is_due_by_the_clock_too(log: SlowLog, metrics: Metrics, seconds: float) -> None:
    made = actor_on(log, metrics=metrics, snapshot_events=100, snapshot_s=seconds)
    made.start()
    await made.submit(ConfigChanged(CONFIG.to_state()))
    for n in range(3):
        await made.submit(fetched(n))
    await made.writer.finish()
    await made._snapshots.end()  # it goes on by itself
    assert (log.states.seq > 0) == (seconds > 0)
    made.release()


async def test_a_snapshot_that_fails_is_not_tried_again_by_the_clock(
    log: SlowLog, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(seq: int, core: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    made = actor_on(log, metrics=metrics, snapshot_events=100, snapshot_s=1e-9)
    made.start()
    monkeypatch.setattr(log.states, "commit", full)
    await made.submit(ConfigChanged(CONFIG.to_state()))
    for n in range(5):
        await made.submit(fetched(n))
    await made.writer.finish()
    await made._snapshots.end()  # it goes on by itself
    assert metrics.registry.get_sample_value("linkscore_snapshot_failures_total") == 1
    made.release()


@pytest.mark.parametrize(("policy", "is_due"), [("harvest", True), ("topic", False)])
async def test_a_crawl_that_writes_states_waits_for_more_events(
    log: SlowLog, metrics: Metrics, policy: str, is_due: bool
) -> None:
    made = actor_on(log, metrics=metrics, snapshot_events=3, snapshot_s=1e-9)
    made.start()
    await made.submit(ConfigChanged(replace(CONFIG, policy=PolicyChoice(policy)).to_state()))
    for n in range(5):
        await made.submit(fetched(n))
    await made.writer.finish()
    await made._snapshots.end()  # it goes on by itself
    assert (log.states.seq > 1) == is_due
    made.release()


async def test_an_event_that_cannot_be_applied_fails_alone(actor: CrawlActor) -> None:
    bad = FeedbackGiven("", HOST, "x", b"", "no number", 0.0)  # type: ignore[arg-type]
    results = await asyncio.gather(
        actor.submit(fetched(0)), actor.submit(bad), actor.submit(fetched(1)), return_exceptions=True
    )
    assert isinstance(results[1], Exception)
    assert actor.model.pages == 2


async def test_a_crawl_whose_policy_is_gone_is_not_recovered_without_it(log: SlowLog) -> None:
    strange = CrawlConfig("c", policy=PolicyChoice("was_installed_once"))
    first = actor_on(log)
    first.start()
    await first.submit(ConfigChanged(CONFIG.to_state()))
    await first.submit(ConfigChanged(strange.to_state()))
    await first.submit(ConfigChanged(CONFIG.to_state()))
    await first.discard()
    with pytest.raises(NotFound, match="was_installed_once"):
        actor_on(log).recover()


async def test_a_page_sent_again_has_its_links_scored_and_leaves_log_and_state_as_they_were(
    actor: CrawlActor, log: SlowLog
) -> None:
    first = await actor.submit(fetched(1))
    before, written = actor.model.to_state(), log.last_seq
    again = await actor.submit(fetched(1))
    assert (first.duplicate, again.duplicate) == (False, True)
    assert list(again.links.scores) == list(first.links.scores)
    assert (actor.model.to_state(), log.last_seq) == (before, written)


async def test_events_without_an_id_are_all_written(actor: CrawlActor, log: SlowLog) -> None:
    nameless = replace(fetched(1), event_id="")
    written = log.last_seq
    outcomes = await actor.submit_all([nameless, nameless])
    assert [outcome.duplicate for outcome in outcomes] == [False, False]
    assert log.last_seq == written + 2


async def test_a_log_with_repeats_in_it_is_read_as_it_was(log: SlowLog) -> None:
    """Earlier versions wrote them; each has a number of its own."""
    events = [ConfigChanged(CONFIG.to_state()), fetched(1), fetched(1), fetched(2)]
    log.append([encode(event) for event in events])
    actor = actor_on(log)
    assert actor.recover() == 4
    assert (actor.model.seq, actor.model.pages) == (4, 2)
