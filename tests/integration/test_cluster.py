"""Servers over one PostgreSQL are one server: nothing acknowledged is lost or counts twice, whatever ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import grpc
import pytest

from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1.crawl_service_pb2_grpc import CrawlServiceStub
from linkscore.v1.link_scoring_service_pb2_grpc import LinkScoringServiceStub
from linkscore_server.app import Application
from linkscore_server.front.front import Cluster
from linkscore_server.settings import Settings
from linkscore_server.store import open_store
from linkscore_server.store.ownership import Ownership
from support import postgres
from support.fleet import SITES, Fleet, Load, fleet
from support.grouped_crawls import page_on
from support.postgres import Postgres
from support.server_process import PATIENCE_S, refusal, stubs
from support.small_site import page

pytestmark = pytest.mark.long


@pytest.fixture
def where(database: Postgres, request: pytest.FixtureRequest) -> str:
    return database.schema(f"cluster{abs(hash(request.node.name))}")


def owners(fleet: Fleet, crawl: str) -> set[str]:
    with stubs(fleet.targets[0]) as server:
        rows = server.crawls.ListShards(crawl_pb.ListShardsRequest(crawl=crawl), timeout=PATIENCE_S).shards
        return {row.owner for row in rows}


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, "it never was so"
        time.sleep(0.1)


def test_any_server_answers_any_call_and_others_go_on_where_one_is_killed(where: str, tmp_path: Path) -> None:
    with fleet(tmp_path, where, 2) as servers:
        crawl = servers.create("books", 16)
        until(lambda: len(owners(servers, crawl)) == 2)
        load = Load(servers, crawl)
        load.wait_for(40)
        victim = servers.servers[0]
        victim.kill()
        servers.remove(victim)
        load.wait_for(80)
        servers.start()
        load.wait_for(80)
        until(lambda: len(owners(servers, crawl)) == 2)
        load.end()
        load.check()


def test_a_server_that_is_told_to_end_hands_its_crawls_over(where: str, tmp_path: Path) -> None:
    with fleet(tmp_path, where, 2) as servers:
        crawl = servers.create("books", 16)
        load = Load(servers, crawl)
        load.wait_for(40)
        leaving = servers.servers[0]
        assert leaving.terminate() == 0
        servers.remove(leaving)
        load.wait_for(40)
        load.end()
        load.check()


@pytest.mark.parametrize("steps", range(4))
async def test_a_server_that_ends_while_it_is_told_to_look_ends(where: str, steps: int) -> None:
    listens = {"listen": "127.0.0.1:0", "peers_listen": "127.0.0.1:0", "metrics_listen": ""}
    app = Application(Settings(**listens, data_dir=where))
    await app.start()
    await asyncio.sleep(0.1)  # it waits now for what tells it to look
    app.front.owners.look_soon()
    for _ in range(steps):
        await asyncio.sleep(0)
    await asyncio.wait_for(app.stop(), PATIENCE_S)
    with closing(open_store(where)) as store:
        assert Ownership(store, "beside:1").standing().servers == {}


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("is_told", [True, False])
async def test_a_deleted_crawl_does_not_come_back_by_what_a_server_hears_late(
    where: str, groups: int, is_told: bool
) -> None:
    """Whether the server is asked to delete it or another one has, and whatever it hears afterwards."""
    listens = {"listen": "127.0.0.1:0", "peers_listen": "127.0.0.1:0", "metrics_listen": ""}
    app, store = Application(Settings(**listens, data_dir=where)), open_store(where)
    await app.start()
    async with grpc.aio.insecure_channel(app.address) as channel:
        crawls, links = CrawlServiceStub(channel), LinkScoringServiceStub(channel)
        old, new = crawl_pb.Crawl(name="crawls/c", groups=4), crawl_pb.Crawl(name="crawls/c", groups=groups)
        await crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=old))
        await links.IngestPages(pb.IngestPagesRequest(crawl="crawls/c", pages=[page(1)]))
        late = Ownership(store, "beside:1").standing()
        if is_told:
            await crawls.DeleteCrawl(crawl_pb.DeleteCrawlRequest(name="crawls/c"))
        else:
            await asyncio.to_thread(store.delete, *late.owners)
        own = app.front.owners
        assert isinstance(own, Cluster)
        await own.hear(late._replace(servers={own.ownership.number: "it"}, mine=frozenset(late.owners)))
        await crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=new))
        got = await crawls.GetCrawl(crawl_pb.GetCrawlRequest(name="crawls/c"))
        assert (got.crawl.groups, got.crawl.page_count) == (groups, 0)
    await app.stop()
    store.close()


@pytest.fixture
def replicated() -> Iterator[tuple[Postgres, Postgres]]:
    """A primary that waits for its standby, and the standby."""
    yield from postgres.replicated()


@pytest.mark.slow
def test_a_standby_that_is_away_and_a_primary_that_is_lost(
    replicated: tuple[Postgres, Postgres], tmp_path: Path
) -> None:
    primary, standby = replicated
    hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
    where = f"postgresql://tests@{hosts}/postgres?target_session_attrs=read-write"
    with fleet(tmp_path, where, 2) as servers:
        crawl = servers.create("books", 16)
        load = Load(servers, crawl)
        other = servers.create("others", 4)
        load.wait_for(100)
        standby.stop()
        with stubs(servers.targets[0]) as server:
            request = pb.IngestPagesRequest(crawl=other, pages=[page_on(site, 0) for site in SITES])
            told = refusal(lambda: server.links.IngestPages(request, timeout=PATIENCE_S))
        assert told.code == grpc.StatusCode.UNAVAILABLE
        standby.start()
        load.wait_for(100)
        primary.kill()
        standby.promote()
        load.wait_for(100)
        load.end()
        load.check()
