"""When sites are mined: as the window slides, if a policy reads logs; old days go; restarts lose nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.state import State
from linkscore_server.app import Application
from linkscore_server.browse_logs.service import BrowseLogManager
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.data_folder import DataFolder
from linkscore_server.settings import Settings
from linkscore_server.store import open_store
from support.browse_logs.batches import batch_of
from support.browse_logs.visit_logs import DAY, MIDNIGHT, SITE

READS_LOGS = PolicyChoice("news_prefix")
_DAY_S = 86_400.0


def batch(batch_id: str, day: int, visits: int = 4) -> pb.ImportBrowseRecordsRequest:
    second = MIDNIGHT + 86_400 * day
    return batch_of(batch_id, [(second, f"client-{n}", f"http://{SITE}/", "") for n in range(visits)])


class Server:
    """An application in this process, whose clock is set by hand and whose minings run in a thread."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 1e12  # after all that arrives, if days expire by it
        self.jobs: list[tuple[BrowseCounts]] = []
        settings = Settings(listen="127.0.0.1:0", metrics_listen="", browse_mine_min_visits=4)
        monkeypatch.setattr(BrowseLogManager, "_in_process", self.run_job)
        self.app = Application(
            settings, store=open_store("memory"), folder=DataFolder(folder), clock=lambda: self.now_s
        )
        assert self.app.browse_logs is not None
        self.browse_logs = self.app.browse_logs.manager

    async def run_job(self, call: Callable[..., State], *job: Any) -> State:
        self.jobs.append(job)
        return await asyncio.to_thread(call, *job)

    async def create(self, policy: PolicyChoice) -> CrawlActor:
        await self.app.registry.create(CrawlConfig("c", policy=policy))
        return await self.app.registry.open("c")

    async def take(self, *batches: pb.ImportBrowseRecordsRequest) -> list[tuple[int, int]]:
        """Take batches in, and return the windows that were mined because of it."""
        actor, before = await self.app.registry.open("c"), len(self.jobs)
        for message in batches:
            await self.browse_logs.take(actor, message)
        self.browse_logs.mine_later(actor)
        await self.browse_logs.idle()
        return [(counts.first_day - DAY, counts.n_days) for counts, *_ in self.jobs[before:]]


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    made = Server(tmp_path, monkeypatch)
    yield made
    await made.browse_logs.close()
    await made.app.registry.close()
    made.app.registry.folder.close()


async def test_a_site_is_mined_when_it_has_visits_and_again_after_a_new_day(server: Server) -> None:
    await server.create(READS_LOGS)
    assert await server.take(batch("few", 0, visits=3)) == []
    assert await server.take(batch("more", 0)) == [(-59, 60)]
    assert await server.take(batch("the same day", 0)) == []
    assert await server.take(batch("one day later", 1)) == [(-58, 60)]
    assert await server.take(batch("one day later", 1)) == []


async def test_a_mining_that_fails_is_counted_and_tried_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing(*job: object) -> State:
        raise ValueError("no")

    await server.create(READS_LOGS)
    with monkeypatch.context() as broken:
        broken.setattr(BrowseLogManager, "_in_process", failing)
        assert await server.take(batch("1", 0)) == []
    assert b"linkscore_mining_failures_total 1.0" in generate_latest(server.app.metrics.registry)
    assert await server.take() == [(-59, 60)]


async def test_days_go_when_their_retention_is_over(server: Server) -> None:
    actor = await server.create(READS_LOGS)
    await server.take(batch("1", 0), batch("2", 1))
    server.now_s = 0.0
    await server.browse_logs.maintain()
    (span,) = (await server.browse_logs.spans(actor)).values()
    assert (span.first_day, span.last_day) == (DAY, DAY + 1)
    server.now_s = 1e12 + 91 * _DAY_S
    await server.browse_logs.maintain()
    await server.browse_logs.idle()
    assert await server.browse_logs.spans(actor) == {}
    assert actor.model.sites[SITE].model.browse is not None


async def test_records_are_counted_by_outcome_and_unknown_reasons_as_other(server: Server) -> None:
    await server.create(READS_LOGS)
    message = batch("1", 0)
    message.left_out.update({"bot": 2, "my reason": 5})
    await server.take(message)
    told = generate_latest(server.app.metrics.registry).decode()
    counts = dict(
        line.rsplit(" ", 1) for line in told.splitlines() if line.startswith("linkscore_browse_records_t")
    )
    assert counts == {
        'linkscore_browse_records_total{outcome="visit"}': "4.0",
        'linkscore_browse_records_total{outcome="bot"}': "2.0",
        'linkscore_browse_records_total{outcome="other"}': "5.0",
    }


async def test_a_crawl_that_is_opened_while_the_server_stops_is_not_mined(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    actor = await asyncio.create_task(server.create(READS_LOGS))
    await asyncio.create_task(server.browse_logs.take(actor, batch("few", 0)))
    assert await server.app.registry.evict("c")
    await server.browse_logs.close()
    await server.app.registry.open("c")
    await server.browse_logs.idle()
    assert "ERROR" not in {record.levelname for record in caplog.records}


async def test_a_crawl_that_was_opened_anew_is_mined_as_it_is_now(server: Server) -> None:
    old = await asyncio.create_task(server.create(READS_LOGS))
    await asyncio.create_task(server.browse_logs.take(old, batch("few", 0)))
    server.browse_logs.mine_later(old)
    await asyncio.sleep(0)
    await old.close()
    await asyncio.sleep(0)
    await server.app.registry.let_go("c")
    server.app.registry.take("c")
    new = await server.app.registry.open("c")
    await server.browse_logs.idle()
    assert new.model.sites[SITE].model.browse is not None
