"""Seeds over all sites: mined when somebody asks, once for all who ask, again when the log has changed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore.v1 import policy_pb2
from linkscore.v1 import site_model_service_pb2 as site_pb
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_server.app import Application
from linkscore_server.browse_logs.manager import BrowseLogManager
from linkscore_server.settings import Settings
from linkscore_server.store import open_store
from support.browse_logs.batches import batch_of
from support.browse_logs.visit_logs import MIDNIGHT

PORTAL = "http://portal.org/today"
_DAY_S = 86_400


def batch(batch_id: str, host: str, days: range, clients: int = 40) -> pb.ImportBrowseRecordsRequest:
    """Return visits of people who go from the portal to a page a day of a host."""
    return batch_of(
        batch_id,
        [
            (MIDNIGHT + day * _DAY_S, f"client-{client}", f"http://{host}/news/{day}", PORTAL)
            for day in days
            for client in range(clients)
        ],
    )


class Server:
    """An application in this process that keeps foreign referrers, and whose minings run in a thread."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.minings = 0
        self.broken = False
        monkeypatch.setattr(BrowseLogManager, "_in_process", self._run)
        settings = Settings(
            listen="127.0.0.1:0", metrics_listen="", browse_referrers="all", browse_window_days=30
        )
        self.app = Application(settings, store=open_store("memory"), clock=lambda: 1e12)
        assert self.app.browse_logs is not None
        self.logs = self.app.browse_logs

    async def _run(self, call, *job):  # type: ignore[no-untyped-def]
        self.minings += 1
        if self.broken:
            raise OSError("the disk is gone")
        return await asyncio.to_thread(call, *job)

    async def take(self, *batches: pb.ImportBrowseRecordsRequest) -> None:
        actor = await self.app.registry.open("c")
        for message in batches:
            await self.logs.manager.take(actor, message)

    async def seeds(self, **params: float) -> site_pb.SuggestSeedsResponse:
        spec = policy_pb2.PolicySpec(news_prefix=policy_pb2.NewsPrefixParams(**params)) if params else None
        request = site_pb.SuggestSeedsRequest(crawl="crawls/c", policy=spec)
        return await self.app.front.router.servicers()["SiteModelService"].SuggestSeeds(request, None)


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    made = Server(monkeypatch)
    await made.app.registry.create(CrawlConfig("c", policy=PolicyChoice("news_prefix", {})))
    yield made
    await made.logs.close()
    await made.app.registry.close()


async def test_a_page_of_a_site_that_is_in_no_log_is_a_hub_over_several_hosts(server: Server) -> None:
    await server.take(batch("1", "a.org", range(30)), batch("2", "b.org", range(30)))
    (seed,) = (await server.seeds()).seeds
    assert (seed.url, seed.value) == (PORTAL, 1.0)
    assert seed.reason == (
        "visitors went from it to 58 news pages on 2 hosts, 58 of them from no seed before; "
        "portal.org is not crawled yet"
    )
