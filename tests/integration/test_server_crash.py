"""kill -9, damage and a full disk: what was acknowledged is there afterwards."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import grpc
import pytest

from linkscore.v1 import (
    crawl_service_pb2 as crawl_pb,
)
from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from linkscore.v1 import (
    site_model_service_pb2 as site_pb,
)
from support.crawl_calls import DUPLICATE, OK, described, report
from support.server_process import ServerProcess, Stubs, refusal, serving, stubs
from support.small_site import HOST, page, url_of

pytestmark = pytest.mark.long

CRAWL = "crawls/crash"
LINKS = [pb.CandidateLink(url=url_of(n)) for n in range(200)]
N_STEPS = 90


def create(server: Stubs, name: str = CRAWL, sample_pages: int = 40) -> None:
    config = crawl_pb.Crawl(
        name=name,
        learning=crawl_pb.LearningConfig(sample_pages=sample_pages),
    )
    server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=config))


def ingest(server: Stubs, numbers: list[int], name: str = CRAWL) -> list[pb.PageResult]:
    request = pb.IngestPagesRequest(crawl=name, pages=[page(n) for n in numbers])
    return list(server.links.IngestPages(request, timeout=60).results)


def feedback(server: Stubs, n: int) -> int:
    given = pb.Feedback(event_id=f"worth-{n}", url=url_of(n), reward=float(n % 3 == 0))
    return report(server, CRAWL, given)[0].code


def step(server: Stubs, n: int) -> None:
    """Take in page `n`, its feedback, and wait for a learning that it made due."""
    ingest(server, [n])
    feedback(server, n)
    site = site_pb.GetSiteRequest(name=f"{CRAWL}/sites/{HOST}")
    if n + 1 in (40, 80):
        while server.sites.GetSite(site).site.model_revision < (n + 1) // 40:
            pass


def scores(server: Stubs) -> list[float]:
    return list(server.links.ScoreLinks(pb.ScoreLinksRequest(crawl=CRAWL, links=LINKS)).links.scores)


@pytest.mark.long
def test_a_restart_after_a_clean_stop_applies_nothing(tmp_path: Path) -> None:
    with serving(tmp_path) as process, stubs(process.target) as server:
        create(server)
        for n in range(N_STEPS):
            step(server, n)
        before = scores(server)
        assert process.terminate() == 0
    with serving(tmp_path) as process, stubs(process.target) as server:
        described(server, CRAWL)
        shards = server.crawls.ListShards(crawl_pb.ListShardsRequest()).shards
        assert [shard.replay_count for shard in shards] == [0]
        assert scores(server) == before


@pytest.mark.long
@pytest.mark.parametrize(
    "damage", ["UPDATE core SET state = x'00'", "UPDATE site SET state = x'00'", "DELETE FROM core"]
)
def test_without_its_states_a_crawl_is_the_same(tmp_path: Path, damage: str) -> None:
    with serving(tmp_path) as process, stubs(process.target) as server:
        create(server)
        for n in range(45):
            step(server, n)
        before, answer = scores(server), described(server, CRAWL)
        assert process.terminate() == 0
    with database(tmp_path) as con:
        con.execute(damage)
    with serving(tmp_path) as process, stubs(process.target) as server:
        assert scores(server) == before
        assert described(server, CRAWL) == answer


@pytest.mark.long
def test_a_damaged_event_closes_its_crawl_naming_it_and_the_others_serve(tmp_path: Path) -> None:
    with serving(tmp_path) as process, stubs(process.target) as server:
        for name in ("crawls/hurt", "crawls/sound"):
            create(server, name)
            for n in range(5):
                ingest(server, [n], name)
        process.kill()
    with database(tmp_path) as con:
        hurt = "shard = (SELECT id FROM shard WHERE name = 'hurt')"
        con.execute(f"UPDATE event SET body = substr(body, 1, 60) WHERE seq = 4 AND {hurt}")
    with serving(tmp_path) as process, stubs(process.target) as server:
        assert described(server, "crawls/sound").page_count == 5
        assert ingest(server, [5], "crawls/sound")[0].status.code == OK
        told = refusal(lambda: ingest(server, [5], "crawls/hurt"))
        assert (told.code, told.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "CORRUPT_STATE")
        assert "event 4" in told.message
        assert refusal(lambda: create(server, "crawls/hurt")).reason == "CORRUPT_STATE"
        server.crawls.DeleteCrawl(crawl_pb.DeleteCrawlRequest(name="crawls/hurt"))
        create(server, "crawls/hurt")
        assert described(server, "crawls/hurt").page_count == 0


@contextmanager
def database(folder: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(folder / "data" / "linkscore.db")) as con, con:
        yield con


@pytest.fixture
def cramped(tmp_path: Path) -> Iterator[ServerProcess]:
    """A server none of whose files may grow beyond 200,000 bytes."""
    with serving(tmp_path, "--log-level", "error", max_file_bytes=200_000) as process:
        yield process


@pytest.mark.long
def test_a_full_disk_is_resource_exhausted_and_loses_nothing(tmp_path: Path, cramped: ServerProcess) -> None:
    acked = []
    with stubs(cramped.target) as server:
        create(server, sample_pages=2_000)
        for n in range(1_000):
            try:
                ingest(server, [n])
            except grpc.RpcError:
                told = refusal(lambda n=n: ingest(server, [n]))
                break
            acked.append(n)
        assert (told.code, told.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "DISK_FULL")
        assert told.retry_s
        told_of = [record["logger"] for record in cramped.records() if "disk" in record["message"]]
        assert told_of == ["linkscore_server.store.store"]
        assert described(server, CRAWL).page_count == len(acked) > 3
        assert scores(server)
        cramped.kill()
    with serving(tmp_path) as process, stubs(process.target) as server:
        assert described(server, CRAWL).page_count == len(acked)
        assert {r.status.code for r in ingest(server, acked)} == {DUPLICATE}
        assert ingest(server, [n])[0].status.code == OK


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path) as process:
        assert process.terminate() == 0
    with database(tmp_path) as con:
        con.execute("UPDATE format SET number = 99")
    with pytest.raises(AssertionError, match="of format 99, this version of linkscore reads"):
        ServerProcess(tmp_path)
