"""What a caller gives up half-way goes on to its end: every group of a crawl hears of a change."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.errors import InvalidInput
from linkscore_server.app import Application
from linkscore_server.crawls import registry
from linkscore_server.crawls.opening import config_of
from linkscore_server.settings import Settings
from linkscore_server.store import open_store


class Held:
    """A function that waits, from its beginning, until its caller has given up."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call, self._has_begun, self._may_go_on = call, threading.Event(), threading.Event()

    def __call__(self, *args: Any) -> Any:
        self._has_begun.set()
        self._may_go_on.wait()
        return self._call(*args)

    async def given_up(self, app: Application, method: str, request: Any) -> None:
        calling = asyncio.create_task(app.front.call(method, request, None))
        await asyncio.to_thread(self._has_begun.wait)
        calling.cancel()
        await asyncio.wait([calling])
        assert calling.cancelled()
        self._may_go_on.set()
        await app.stop()


async def started(folder: Path) -> Application:
    app = Application(Settings(data_dir=str(folder), listen="127.0.0.1:0", metrics_listen=""))
    await app.start()
    await app.registry.create(CrawlConfig("books", groups=3))
    return app


async def test_a_deletion_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app, logs = await started(tmp_path), tmp_path / "browse" / "books@0-of-3"
    await app.registry.open(logs.name)
    logs.mkdir(parents=True)
    deleting = Held(app.registry.store.delete)
    monkeypatch.setattr(app.registry.store, "delete", deleting)
    await deleting.given_up(app, "CrawlService/DeleteCrawl", pb.DeleteCrawlRequest(name="crawls/books"))
    assert (app.registry.keys(), app.registry.actors(), list(logs.parent.iterdir())) == ([], [], [])


async def test_a_change_reaches_all_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = await started(tmp_path)
    changing = Held(registry.load_libraries)
    monkeypatch.setattr(registry, "load_libraries", changing)
    changed = pb.Crawl(name="crawls/books", budget=pb.Budget(max_site_fetches=9))
    await changing.given_up(app, "CrawlService/UpdateCrawl", pb.UpdateCrawlRequest(crawl=changed))
    store = open_store(str(tmp_path))
    limits = [config_of(store.open(key)).limits for key in store.shards()]
    store.close()
    assert limits == [{"budget": {"max_site_fetches": 9}}] * 3


async def test_a_change_that_is_refused_is_no_fault_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app = await started(tmp_path)
    await app.registry.open("books@0-of-3")

    def refuse(config: CrawlConfig) -> None:
        raise InvalidInput("must be another one", field="policy")

    changing = Held(refuse)
    monkeypatch.setattr(registry, "load_libraries", changing)
    changed = pb.Crawl(name="crawls/books", budget=pb.Budget(max_site_fetches=9))
    await changing.given_up(app, "CrawlService/UpdateCrawl", pb.UpdateCrawlRequest(crawl=changed))
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
