"""Calls follow their shard from a process that refuses, is gone or was stopped to the next that has it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.rpc import code_pb2, status_pb2

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.errors import InvalidInput
from linkscore_server.cluster import owners as room
from linkscore_server.cluster.owners import ClusterOwners
from linkscore_server.cluster.routes import Route
from linkscore_server.crawls.turns import CrawlOpening
from linkscore_server.crawls.writer import CrawlClosed
from linkscore_server.grpc.errors import Forwarded, NotServing
from linkscore_server.routing.crawls import may_repeat
from linkscore_server.routing.router import Router
from linkscore_server.settings import Settings
from linkscore_server.storage.base import LogAway

SHARD = Shard("books")
REFUSALS = [
    NotServing("it is gone"),
    LogAway("another process has these sites"),
    CrawlClosed("it is let go of"),
    CrawlOpening("its log is replayed"),
    Forwarded(status_pb2.Status(code=code_pb2.UNAVAILABLE)),
]
OTHER_ERRORS = [
    InvalidInput("must be a URL", field="url"),
    Forwarded(status_pb2.Status(code=code_pb2.INVALID_ARGUMENT)),
]


class FakeOwner:
    """A process that answers with its name, refuses, or says nothing."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.error: Exception | None = None
        self.is_stopped = False
        self.asked = asyncio.Event()
        self.was_given_up = False

    async def answer(self) -> str:
        self.asked.set()
        try:
            while self.is_stopped:
                await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.was_given_up = True
            raise
        if self.error is not None:
            raise self.error
        return self.name

    async def call(self, method: str, request: Any, context: Any) -> str:
        return await self.answer()

    async def close(self) -> None: ...


class Slots:
    """All shards are in one slot, which `a` has first; the calls come in at `c`."""

    def __init__(self) -> None:
        self.processes = {name: FakeOwner(name) for name in "abc"}
        self.owners = ClusterOwners(self.processes["c"], self.processes.__getitem__)  # type: ignore[arg-type]
        self.owners.address, self.owners.slots = "c", 1
        self._epoch = 0
        self.give("a")

    def give(self, name: str) -> None:
        """Let a process say that it has the slot."""
        self._epoch += 1
        self.owners.hear(0, Route(name, self._epoch))

    def call(self, *, may_repeat: bool = True) -> asyncio.Task[str]:
        def sent(owner: Any) -> Any:
            return owner.answer()

        return asyncio.create_task(self.owners.reach(SHARD, sent, may_repeat=may_repeat))


class Here:
    """A registry that has the shard, and nothing else."""

    def has(self, name: str) -> bool:
        return name == SHARD.crawl


@pytest.fixture
async def slots() -> Slots:
    return Slots()


@pytest.mark.parametrize("next_one", ["b", "c"])
async def test_a_call_leaves_a_stopped_process_when_another_has_the_shard(
    slots: Slots, next_one: str
) -> None:
    slots.processes["a"].is_stopped = True
    call = slots.call()
    await slots.processes["a"].asked.wait()
    slots.give(next_one)
    assert await call == next_one
    assert slots.processes["a"].was_given_up


@pytest.mark.parametrize("first", ["a", "c"])
@pytest.mark.parametrize("error", REFUSALS, ids=lambda error: type(error).__name__)
async def test_a_refused_call_waits_for_the_next_owner(slots: Slots, error: Exception, first: str) -> None:
    slots.give(first)
    slots.processes[first].error = error
    call = slots.call()
    await slots.processes[first].asked.wait()
    slots.give("b")
    assert await call == "b"


async def test_a_call_about_a_shard_that_nobody_has_waits_for_an_owner(slots: Slots) -> None:
    slots.owners._routes.clear()
    call = slots.call()
    await asyncio.sleep(0)
    slots.give("b")
    assert await call == "b"


async def test_an_owner_that_says_its_name_again_goes_on_answering(slots: Slots) -> None:
    slots.processes["a"].is_stopped = True
    call = slots.call()
    await slots.processes["a"].asked.wait()
    slots.give("a")
    await asyncio.sleep(0)
    assert not slots.processes["a"].was_given_up
    call.cancel()


@pytest.mark.parametrize("error", OTHER_ERRORS, ids=lambda error: type(error).__name__)
async def test_other_errors_are_answers(slots: Slots, error: Exception) -> None:
    slots.processes["a"].error = error
    with pytest.raises(type(error)):
        await slots.call()


async def test_a_call_at_the_process_that_loses_a_crawl_of_one_group_follows_it(slots: Slots) -> None:
    slots.give("c")
    slots.processes["c"].error = LogAway("another process has taken these sites over")
    registry: Any = Here()
    metrics: Any = None
    made = Router(
        slots.owners, registry, Settings(), metrics, ticket_key=bytes, domain_of=str, clock=lambda: 0.0
    )
    request = pb.ScoreLinksRequest(crawl=f"crawls/{SHARD.crawl}")
    call = asyncio.create_task(made.call("LinkScoringService/ScoreLinks", request, None))
    await slots.processes["c"].asked.wait()
    slots.give("b")
    assert await call == "b"


async def test_what_may_not_be_repeated_is_not(slots: Slots) -> None:
    slots.processes["a"].error = NotServing("it is gone")
    with pytest.raises(NotServing):
        await slots.call(may_repeat=False)


async def test_a_shard_that_stays_away_is_refused_in_the_end(
    slots: Slots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "_FOLLOWS_S", 0.0)
    slots.processes["a"].error = NotServing("it is gone")
    with pytest.raises(NotServing, match="it is gone"):
        await slots.call()


async def test_a_caller_that_gives_up_ends_its_call(slots: Slots) -> None:
    slots.processes["a"].is_stopped = True
    call = slots.call()
    await slots.processes["a"].asked.wait()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    assert slots.processes["a"].was_given_up


def test_what_is_told_may_be_repeated_if_all_of_it_has_event_ids() -> None:
    named, unnamed = pb.Feedback(event_id="1"), pb.Feedback()
    assert may_repeat(pb.ReportFeedbackRequest(feedback=[named, named]))
    assert not may_repeat(pb.ReportFeedbackRequest(feedback=[named, unnamed]))
    assert not may_repeat(pb.IngestPagesRequest(pages=[{"url": "http://a.test/"}]))
    assert may_repeat(pb.RankBucketsRequest(buckets=["a.test/1"]))
