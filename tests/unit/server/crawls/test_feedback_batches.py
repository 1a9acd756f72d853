"""Batches through the writer, and the metrics of rewards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from prometheus_client import generate_latest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import FeedbackGiven
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.learning import LearningPool
from linkscore_server.crawls.sites import StoredCrawl
from linkscore_server.observability.metrics import RECENT_REWARDS, Metrics
from linkscore_server.store import NewEvent, StoredShard, open_store


class Counting:
    """Remembers the events of each group that a shard was given, and fails while told to."""

    def __init__(self, shard: StoredShard, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shard, self.commit = shard, shard.commit
        self.groups: list[int] = []
        self.full = False
        monkeypatch.setattr(shard, "commit", self.counted)

    def counted(self, events: Sequence[NewEvent]) -> Future[int]:
        if self.full:
            failed: Future[int] = Future()
            failed.set_exception(OSError(28, "No space left on device"))
            return failed
        self.groups.append(len(events))
        return self.commit(events)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counting]:
    store = open_store("memory")
    yield Counting(store.create("c"), monkeypatch)
    store.close()


@pytest.fixture
async def actor(log: Counting) -> AsyncIterator[CrawlActor]:
    with ThreadPoolExecutor(1) as pool:
        made = CrawlActor(
            StoredCrawl(CrawlConfig("c"), log.shard, ticket_key=b"key"),
            log.shard,
            learner=LearningPool(processes=0),
            background=pool,
            reader=pool,
            metrics=Metrics(),
        )
        made.start()
        yield made
        await made.close()


def given(n: int, reward: float = 1.0) -> FeedbackGiven:
    return FeedbackGiven(f"f{n}", "h", f"http://h/{n}", b"", reward, 0.0)


async def test_a_batch_is_one_group_applied_in_its_order(actor: CrawlActor, log: Counting) -> None:
    outcomes = await actor.submit_all([given(1), given(2), given(1), given(3)])
    assert outcomes == [True, True, False, True]
    assert log.groups == [3], "the repeat is not written"
    assert actor.model.seq == 3


async def test_an_event_of_a_batch_that_cannot_be_applied_fails_alone(actor: CrawlActor) -> None:
    bad = given(2, reward="no number")  # type: ignore[arg-type]
    first, broken, last = await actor.submit_all([given(1), bad, given(3)])
    assert (first, last) == (True, True)
    assert isinstance(broken, Exception)


async def test_other_calls_get_their_turn_within_a_batch(actor: CrawlActor) -> None:
    turns, done = 0, actor.submit_all([given(n) for n in range(256)])
    while not done.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns >= 256 // 32


def test_the_harvest_rate_is_that_of_the_last_thousand_events_of_each_policy() -> None:
    metrics = Metrics()
    metrics.count_feedback("harvest", [0.0] * RECENT_REWARDS)
    metrics.count_feedback("harvest", [1.0] * 250)
    metrics.count_feedback("opic", [0.5])
    shown = generate_latest(metrics.registry).decode()
    assert 'linkscore_recent_reward{policy="harvest"} 0.25' in shown
    assert 'linkscore_recent_reward{policy="opic"} 0.5' in shown
