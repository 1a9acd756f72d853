"""A server of a cluster says that it lives while its threads are busy, and while it hands over its crawls."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_server.app import Application
from linkscore_server.settings import Settings
from support.postgres import Postgres


@pytest.fixture
async def app(database: Postgres, request: pytest.FixtureRequest) -> Application:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    where = database.schema(f"beats{abs(hash(request.node.name))}")
    return Application(
        Settings(
            data_dir=where, listen="127.0.0.1:0", peers_listen="127.0.0.1:0", metrics_listen="", drain_s=0.1
        )
    )


async def beats(app: Application, n: int) -> list[float]:
    """Return when the server has beaten, as soon as that was `n` times."""
    found = list[float]()
    while len(found) < n:
        found += {beat for (beat,) in app.registry.store.engine.rows("SELECT beat FROM server")} - {*found}
        await asyncio.sleep(0.05)
    return found


async def test_a_server_lives_while_all_threads_are_busy(app: Application) -> None:
    may_go_on = threading.Event()
    busy = asyncio.create_task(asyncio.to_thread(may_go_on.wait))
    await asyncio.sleep(0)
    try:
        await app.start()
        first, second = await beats(app, 2)
        assert (first < second, busy.done()) == (True, False)
    finally:
        may_go_on.set()
    await busy
    await app.stop()


async def test_a_server_lives_while_it_hands_over_its_crawls(
    app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    await app.start()
    await app.registry.create(CrawlConfig("books"))
    await app.registry.open("books")
    closed, really = asyncio.Event(), app.registry.let_go

    async def slowly(name: str) -> None:
        await closed.wait()
        await really(name)

    monkeypatch.setattr(app.registry, "let_go", slowly)
    stopping = asyncio.create_task(app.stop())
    assert len(await beats(app, 4)) == 4
    assert not stopping.done()
    closed.set()
    await stopping
