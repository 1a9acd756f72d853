"""Both clients send browse logs as the contract has it, and ask for minings and stats."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from linkscore import AsyncClient, Client
from linkscore import errors as err
from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore.v1 import browse_log_service_pb2_grpc as pb_grpc

RECORD = pb.BrowseRecord(client_id="c", url="http://a.org/")


class FakeBrowseLogs(pb_grpc.BrowseLogServiceServicer):
    """Answers what it was sent, or refuses a crawl named `gone`."""

    def ImportBrowseRecords(self, request, context):
        if request.crawl == "crawls/gone":
            context.abort(grpc.StatusCode.NOT_FOUND, "no such crawl")
        said = f"{request.crawl} {request.batch_id} {list(request.hosts)}"
        return pb.ImportBrowseRecordsResponse(
            record_count=len(request.records), left_out={said: 1, **request.left_out}
        )

    def MineSite(self, request, context):
        labels = [f"{label.url}={label.is_news}" for label in request.news_labels]
        summary = f"{request.name} {request.window_days} {request.news_threshold} {labels}"
        return pb.MineSiteResponse(policies=[pb.MinedPolicy(summary=summary)])

    def GetBrowseStats(self, request, context):
        return pb.GetBrowseStatsResponse(left_out={request.crawl: 1})


@pytest.fixture
def target() -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    pb_grpc.add_BrowseLogServiceServicer_to_server(FakeBrowseLogs(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


BATCH = {
    "batch_id": "1",
    "records": [RECORD, RECORD],
    "hosts": ["a.org"],
    "left_out": {"mine": 4},
}
SUMMARY = "crawls/news/sites/a.org%3A81 30 1.5 ['http://a.org/=True', 'http://a.org/b=False']"
MINING = {
    "crawl": "news",
    "site": "a.org:81",
    "window_days": 30,
    "news_labels": {"http://a.org/": True, "http://a.org/b": False},
    "news_threshold": 1.5,
}


def test_the_blocking_client_sends_a_batch(target: str) -> None:
    with Client(target) as client:
        got = client.import_browse_records(crawl="news", **BATCH)
        assert (got.record_count, dict(got.left_out)) == (2, {"crawls/news 1 ['a.org']": 1, "mine": 4})
        assert client.mine_site(**MINING).policies[0].summary == SUMMARY
        assert dict(client.get_browse_stats(crawl="news").left_out) == {"crawls/news": 1}
        with pytest.raises(err.NotFound):
            client.import_browse_records(crawl="gone", **BATCH)


async def test_the_asyncio_client_does_so_too(target: str) -> None:
    async with AsyncClient(target) as client:
        assert (await client.import_browse_records(crawl="news", **BATCH)).record_count == 2
        assert (await client.mine_site(**MINING)).policies[0].summary == SUMMARY
        assert dict((await client.get_browse_stats(crawl="news")).left_out) == {"crawls/news": 1}
