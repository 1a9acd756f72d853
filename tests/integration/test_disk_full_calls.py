"""A server whose disk is full: what brings something is refused by name, everything else is answered."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from linkscore.v1 import browse_log_service_pb2 as browse_pb
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2 as site_pb
from linkscore_scoring.site.learning import LearnedSite, LearningJob
from linkscore_server.app import Application
from linkscore_server.crawls.learning import LearningPool
from linkscore_server.data_folder import DataFolder
from linkscore_server.settings import Settings
from linkscore_server.store import Store, StoredShard
from linkscore_server.store.sqlite import SqliteEngine
from support.server_process import Refusal, Stubs
from support.small_site import HOST, page, url_of

CRAWL = "crawls/full"
PLENTY, NOTHING = (1 << 40, 1 << 41), (1 << 20, 1 << 41)


class Filling(SqliteEngine):
    """A folder on a disk that is as full as one says."""

    room = PLENTY

    def space(self) -> tuple[int, int]:
        return self.room


@pytest.fixture
def disk(tmp_path: Path) -> Filling:
    return Filling(tmp_path / "linkscore.db")


@pytest.fixture
async def app(disk: Filling, tmp_path: Path) -> AsyncIterator[Application]:
    settings = replace(Settings(), listen="127.0.0.1:0", metrics_listen="", learning_processes=0)
    app = Application(settings, store=Store(disk), folder=DataFolder(tmp_path))
    await app.start()
    yield app
    disk.room = PLENTY
    await app.stop()


@pytest.fixture
async def server(app: Application) -> AsyncIterator[Stubs]:
    async with grpc.aio.insecure_channel(app.address) as channel:
        stubs = Stubs(channel)
        await stubs.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name=CRAWL)))
        await stubs.links.IngestPages(pages(0))
        yield stubs


def pages(n: int) -> pb.IngestPagesRequest:
    return pb.IngestPagesRequest(crawl=CRAWL, pages=[page(n)])


FEEDBACK = pb.ReportFeedbackRequest(crawl=CRAWL, feedback=[pb.Feedback(url=url_of(1), reward=1.0)])
BROUGHT: dict[str, Callable[[Stubs], Awaitable[Any]]] = {
    "IngestPages": lambda s: s.links.IngestPages(pages(1)),
    "ReportFeedback": lambda s: s.links.ReportFeedback(FEEDBACK),
    "CreateCrawl": lambda s: s.crawls.CreateCrawl(
        crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name="crawls/another"))
    ),
    "UpdateCrawl": lambda s: s.crawls.UpdateCrawl(
        crawl_pb.UpdateCrawlRequest(crawl=crawl_pb.Crawl(name=CRAWL, observe_only=True))
    ),
    "ImportBrowseRecords": lambda s: s.browse.ImportBrowseRecords(
        browse_pb.ImportBrowseRecordsRequest(crawl=CRAWL, batch_id="1")
    ),
    "LearnSite": lambda s: s.sites.LearnSite(site_pb.LearnSiteRequest(name=f"{CRAWL}/sites/{HOST}")),
}
ASKED: dict[str, Callable[[Stubs], Awaitable[Any]]] = {
    "RankBuckets": lambda s: s.links.RankBuckets(pb.RankBucketsRequest(crawl=CRAWL, buckets=["a"])),
    "RankSites": lambda s: s.links.RankSites(
        pb.RankSitesRequest(crawl=CRAWL, sites=[pb.WaitingSite(site=f"{CRAWL}/sites/{HOST}")])
    ),
    "ScoreLinks": lambda s: s.links.ScoreLinks(
        pb.ScoreLinksRequest(crawl=CRAWL, links=[pb.CandidateLink(url=url_of(1))])
    ),
    "GetCrawl": lambda s: s.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=CRAWL)),
    "ListSites": lambda s: s.sites.ListSites(site_pb.ListSitesRequest(crawl=CRAWL)),
}


@pytest.mark.parametrize("name", BROUGHT)
async def test_what_brings_something_is_refused_by_name_and_nothing_is_written(
    name: str, app: Application, disk: Filling, server: Stubs
) -> None:
    before = (await ASKED["GetCrawl"](server)).crawl.page_count
    log = app.registry.opened_now("full")
    assert log is not None
    seq = log.model.seq
    disk.room = NOTHING
    await asyncio.sleep(0.06)  # a server looks every .05 s
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await BROUGHT[name](server)
    told = Refusal(caught.value)
    assert (told.code, told.reason, told.retry_s) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "DISK_FULL", 5.0)
    assert told.message.startswith("the server's disk is full")
    assert log.model.seq == seq
    disk.room = PLENTY
    assert (await server.links.IngestPages(pages(2))).results[0].status.code
    assert (await ASKED["GetCrawl"](server)).crawl.page_count == before + 1


@pytest.mark.parametrize("name", ASKED)
async def test_questions_are_answered_on_a_full_disk(name: str, disk: Filling, server: Stubs) -> None:
    disk.room = NOTHING
    assert await ASKED[name](server) is not None


def refused(shard: StoredShard, events: object) -> Future[int]:
    done = Future[int]()
    done.set_exception(OSError(errno.ENOSPC, "No space left on device"))
    return done


async def test_a_disk_that_fills_while_a_site_is_learned_is_named_and_the_site_may_learn_again(
    server: Stubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = LearningPool.learn

    async def filling(pool: LearningPool, job: LearningJob) -> LearnedSite:
        monkeypatch.setattr(StoredShard, "commit", refused)
        return await learn(pool, job)

    monkeypatch.setattr(LearningPool, "learn", filling)
    with pytest.raises(grpc.aio.AioRpcError) as told:
        await server.sites.LearnSite(site_pb.LearnSiteRequest(name=f"{CRAWL}/sites/{HOST}"), timeout=30.0)
    assert Refusal(told.value).reason == "DISK_FULL"
    monkeypatch.undo()
    async with asyncio.timeout(30.0):
        while (await ASKED["ListSites"](server)).sites[0].learning:
            await asyncio.sleep(0.05)
