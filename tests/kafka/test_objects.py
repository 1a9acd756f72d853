"""A server is killed whose snapshots are objects: another one goes on from them, to the state of a replay."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import msgpack
import pytest

pytest.importorskip("obstore", reason="needs the extra objects")

from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore_scoring.engine.groups import shards_of
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.objects.annex import InObjects
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.storage.kafka.snapshots import SnapshotPlace
from linkscore_server.storage.kafka.store import KafkaStore
from support.cluster.brokers import Brokers
from support.cluster.fleet import Fleet, Load, create
from support.objects.s3 import running

pytestmark = pytest.mark.slow

GROUPS, SNAPSHOT_EVENTS, PAGES = 4, 50, 600
PREFIX = "objects"


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Give a place for objects: `OBJECTS` of the environment, or one of this test."""
    if "OBJECTS" in os.environ:
        yield os.environ["OBJECTS"]
        return
    with running() as made:
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        yield "s3://bucket/snapshots"


async def opened(hosts: str, folder: Path, place: SnapshotPlace | None) -> tuple[list[bytes], int, int]:
    """Return the states of all shards at a new server, which ends at once, and how they came to be.

    That is by so many events that were replayed, and so many snapshots.
    """
    store = KafkaStore.at(
        hosts, folder, properties={}, prefix=PREFIX, replicas=3, owner="judge", snapshots=place
    )
    registry = CrawlRegistry(store, Settings(), Metrics())
    await registry.recover()
    actors = [await registry.open(shard.key) for shard in shards_of("books", GROUPS)]
    states = [msgpack.packb(actor.model.to_state()) for actor in actors]
    replayed = [actor.replay_count for actor in actors]
    for shard in shards_of("books", GROUPS):
        await registry.open_crawls.actors.pop(shard.key).discard()
    await registry.close()
    store.close()
    return states, max(replayed), store.counts.checkpoints_taken


async def test_who_takes_over_from_a_killed_server_goes_on_from_objects(
    brokers: Brokers, tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ("--snapshot-url", url, "--snapshot-events", str(SNAPSHOT_EVENTS), "--snapshot-s", "0")
    fleet = Fleet(tmp_path, brokers.hosts, PREFIX, session_s=6, flags=flags)
    for name in "ab":
        fleet.start(name)
    create(fleet.next_target(), crawl_pb.Crawl(name="crawls/books", groups=GROUPS))
    load = Load(fleet, "crawls/books")
    load.start()
    try:
        for name, pages in (("a", PAGES // 2), ("b", PAGES)):
            while len(load.acknowledged) < pages:
                assert not load.failures, load.failures
                time.sleep(0.1)
            fleet.start(f"after {name}")
            fleet.end(name, signal.SIGKILL)
            load.wait_for_all_sites(time.monotonic())
    finally:
        load.stop()
        for name in list(fleet.running):
            fleet.end(name, signal.SIGKILL)
    from_objects, replayed, taken = await opened(brokers.hosts, tmp_path / "reads", InObjects(url))
    by_replay, events, _ = await opened(brokers.hosts, tmp_path / "replays", None)
    assert from_objects == by_replay
    assert taken == GROUPS
    assert replayed < 4 * SNAPSHOT_EVENTS < events
    with capsys.disabled():
        print(f"\n{len(load.acknowledged)} pages: {replayed} of {events} events of a group replayed", end="")
