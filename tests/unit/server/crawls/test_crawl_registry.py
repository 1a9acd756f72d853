"""Crawls open when they are asked for and are evicted when nobody asks; only damaged files are damage."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import msgpack
import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import ConfigChanged, FeedbackGiven, encode
from linkscore_scoring.errors import CorruptState, LimitExceeded
from linkscore_server.crawls.open_crawls import CrawlNotFound
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.observability.metrics import Metrics
from linkscore_server.pieces import packed_in_pieces
from linkscore_server.settings import Settings
from linkscore_server.storage.files import FileStore


class Stored(FileStore):
    """A folder of crawls that fails to open one with `error` while there is one."""

    error: Exception | None = None

    def open(self, crawl: str):  # type: ignore[no-untyped-def]
        if self.error is not None:
            raise self.error
        return super().open(crawl)


def registry_of(store: FileStore, **options: int) -> CrawlRegistry:
    return CrawlRegistry(store, Settings(), Metrics(), **options)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Stored]:
    """Three crawls of an event each."""
    made = Stored(tmp_path)
    registry = registry_of(made)
    await registry.recover()
    for name in "abc":
        actor = await registry.changes.create(CrawlConfig(name))
        await actor.submit(FeedbackGiven("e", "a.org", "http://a.org/", b"", 1.0, 1e9))
    await registry.close()
    yield made
    made.close()


async def in_a_call(registry: CrawlRegistry, name: str) -> int:
    """Return the feedback of a crawl, asked for in a task of its own as calls are."""

    async def call() -> int:
        return (await registry.open(name)).model.feedbacks

    feedbacks = await asyncio.create_task(call())
    await asyncio.sleep(0)  # the crawl hears of the end of the task
    return feedbacks


async def test_a_crawl_is_served_at_once_and_opened_by_the_first_call(store: Stored) -> None:
    registry = registry_of(store, most_open=2)
    await registry.recover()
    assert (registry.names(), registry.actors()) == (["a", "b", "c"], [])
    assert await asyncio.gather(*(in_a_call(registry, "c") for _ in range(5))) == [1] * 5
    await registry.close()


async def test_crawls_are_opened_in_the_background_after_the_start(store: Stored) -> None:
    registry = registry_of(store, most_open=6)
    await registry.recover()
    async with asyncio.timeout(30):
        while len(registry.actors()) < 3:
            await asyncio.sleep(0.01)
    assert len(registry.actors()) == 3
    await registry.close()


async def test_a_crawl_that_was_evicted_goes_on_where_it_was(store: Stored) -> None:
    registry = registry_of(store)
    await registry.recover()
    before = msgpack.packb((await registry.models(["a"]))[0].to_state())
    assert await registry.evict("a")
    assert "a" not in [actor.model.config.name for actor in registry.actors()]
    again = await registry.open("a")
    assert msgpack.packb(again.model.to_state()) == before
    assert not await registry.evict("a"), "this task uses it"
    await registry.close()


async def test_no_more_crawls_are_open_than_descriptors_allow(store: Stored) -> None:
    registry = registry_of(store, most_open=1)
    await registry.recover()
    for name in "abcabc":
        assert await in_a_call(registry, name) == 1
        assert len(registry.actors()) == 1
    await registry.open("a")
    with pytest.raises(LimitExceeded, match="descriptors"):
        await in_a_call(registry, "b")
    assert registry.damaged == {}
    await registry.close()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.EIO, errno.EACCES, errno.ESTALE])
async def test_an_error_of_the_system_is_no_damage(store: Stored, number: int) -> None:
    registry = registry_of(store, most_open=1)
    store.error = OSError(number, os.strerror(number))
    await registry.recover()
    with pytest.raises(OSError, match=os.strerror(number)):
        await in_a_call(registry, "b")
    store.error = None
    assert await in_a_call(registry, "b") == 1
    assert registry.damaged == {}
    await registry.close()


def event_of_another_version(kind: str) -> bytes:
    """Return an event whose values, or whose configuration, are not those of this version."""
    if kind == "values":
        return bytes(msgpack.packb([2, ["of", "another", "version"]]))
    config = CrawlConfig("a").to_state()
    config["of_another_version"] = 1
    return encode(ConfigChanged(config))


@pytest.mark.parametrize("kind", ["values", "configuration"])
async def test_data_of_another_version_of_the_same_format_is_not_called_damaged(
    store: Stored, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = store.open("a")
    log.append([event_of_another_version(kind)])
    log.close()
    registry = registry_of(store, most_open=2)
    await registry.recover()
    with pytest.raises(CorruptState, match=r"event \d+ is not damaged.*another version.*format 1"):
        await in_a_call(registry, "a")
    assert "crawl a stays closed" in caplog.text
    assert "is damaged" not in caplog.text
    assert await in_a_call(registry, "b") == 1
    await registry.close()


async def test_a_folder_copied_under_another_name_is_refused(store: Stored, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / "crawls" / "a", tmp_path / "crawls" / "copy")
    registry = registry_of(store)
    await registry.recover()
    with pytest.raises(CorruptState, match="crawl 'copy': the folder holds crawl 'a'"):
        await in_a_call(registry, "copy")
    assert await in_a_call(registry, "a") == 1
    assert [model.config.name for model in await registry.models(registry.names())] == ["a", "b", "c"]
    await registry.changes.delete("copy")
    with pytest.raises(CrawlNotFound):
        await in_a_call(registry, "copy")
    await registry.close()


def test_pieces_of_a_state_are_the_state() -> None:
    state = {"a": [1, [2, {"b": (3, b"x")}], []], "c": {}, "d": [[n, {n: None}] for n in range(20)], "e": 1.5}
    assert b"".join(packed_in_pieces(state)) == msgpack.packb(state)


@pytest.mark.parametrize("kind", [list, dict])
def test_what_is_long_comes_in_many_pieces_wherever_it_is(kind: type) -> None:
    items = kind((n, {"a": [n] * 40}) for n in range(1_000))
    state = {"few": [[1, 2], items], "many": {n: [n] for n in range(100)}, "deep": {"er": (items, {})}}
    pieces = list(packed_in_pieces(state))
    assert b"".join(pieces) == msgpack.packb(state)
    assert max(map(len, pieces)) < len(msgpack.packb(items)) / 20


async def test_a_crawl_is_not_opened_while_its_visits_are_looked_at(store: Stored) -> None:
    """Opening moves visits into days and drops drafts; deleting old days meanwhile lost both."""
    registry = registry_of(store, most_open=2)
    registry.open_crawls.take("a")
    async with registry.at_rest("a"):
        opening = asyncio.create_task(in_a_call(registry, "a"))
        await asyncio.sleep(0.05)
        assert not opening.done()
        assert registry.actors() == []
    assert await opening == 1
    await registry.close()


async def test_damage_that_a_snapshot_covers_is_told_and_the_crawl_serves(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = FileStore(tmp_path, segment_bytes=1)
    registry = registry_of(store)
    actor = await registry.changes.create(CrawlConfig("a"))
    await actor.submit(FeedbackGiven("e", "a.org", "http://a.org/", b"", 1.0, 1e9))
    await registry.close()
    segment = min((tmp_path / "crawls" / "a").glob("*.log"))
    segment.write_bytes(segment.read_bytes()[:-1])
    store.close()
    store, metrics = FileStore(tmp_path), Metrics()
    registry = CrawlRegistry(store, Settings(), metrics)
    await registry.recover()
    assert await in_a_call(registry, "a") == 1
    async with asyncio.timeout(60):
        while not metrics.registry.get_sample_value("linkscore_log_damage_total"):
            await asyncio.sleep(0)
    assert f"crawl a serves from its snapshot, its log is damaged: {segment} at offset 8" in caplog.text
    assert registry.damaged == {}
    await registry.close()
    store.close()
