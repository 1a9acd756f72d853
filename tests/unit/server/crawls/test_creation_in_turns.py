"""Crawls that several processes may make in turn: found by simulated orders, each here by itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.events import FeedbackGiven
from linkscore_scoring.engine.groups import Shard
from linkscore_server.crawls.changes import CrawlExists
from linkscore_server.crawls.open_crawls import CrawlNotFound
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.storage.base import LogAway
from linkscore_server.storage.files import FileStore


class Lease:
    """Has every shard, as long as nobody asks the coordinator; of whom `answers` are the answers."""

    def __init__(self, *answers: bool) -> None:
        self._answers = list(answers)

    def serves(self, _: Shard) -> bool:
        return True

    async def confirm(self, _: Shard) -> None:
        if not self._answers.pop(0):
            raise LogAway("another process has these sites by now, try again")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FileStore]:
    made = FileStore(tmp_path)
    yield made
    made.close()


def registry_of(store: FileStore) -> CrawlRegistry:
    return CrawlRegistry(store, Settings(), Metrics())


async def made(store: FileStore) -> None:
    """Have another process make the crawl `books`, with an event."""
    registry = registry_of(store)
    actor = await registry.changes.create(CrawlConfig("books"))
    await actor.submit(FeedbackGiven("e", "a.org", "http://a.org/", b"", 1.0, 1e9))
    await registry.close()


async def test_a_crawl_that_another_process_made_meanwhile_is_found_and_not_made_over(
    store: FileStore,
) -> None:
    registry = registry_of(store)
    await registry.recover()
    await made(store)
    actor = await registry.changes.create(CrawlConfig("books"))
    assert (actor.model.seq, actor.model.feedbacks) == (2, 1)
    with pytest.raises(CrawlExists):
        await registry.changes.create(CrawlConfig("books", policy=PolicyChoice("breadth_first")))
    await registry.close()


async def test_a_crawl_is_not_made_by_who_lost_its_sites_while_its_log_was_made(store: FileStore) -> None:
    registry = registry_of(store)
    await registry.recover()
    registry.open_crawls.lease = Lease(True, False)
    with pytest.raises(LogAway):
        await registry.changes.create(CrawlConfig("books"))
    await registry.close()
    assert not registry.has("books")


async def test_who_has_lost_its_sites_does_not_say_that_a_crawl_is_not_there(store: FileStore) -> None:
    registry = registry_of(store)
    await registry.recover()
    registry.open_crawls.lease = Lease(False, True)
    with pytest.raises(LogAway):
        await registry.open("books")
    with pytest.raises(CrawlNotFound):
        await registry.open("books")
    await registry.close()


async def test_what_an_unfinished_creation_left_takes_the_configuration_of_the_next(store: FileStore) -> None:
    registry = registry_of(store)
    await registry.recover()
    left = await registry.changes.create(CrawlConfig("books", create_time_s=1.0))
    await registry.changes.begin_anew("books", CrawlConfig("books", create_time_s=2.0))
    assert (left.model.seq, left.model.config.create_time_s) == (2, 2.0)
    await registry.changes.begin_anew("books", left.model.config)
    assert left.model.seq == 2
    await registry.close()
