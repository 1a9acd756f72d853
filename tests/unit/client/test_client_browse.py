"""Both clients send browse logs as the contract has it, and ask for minings and stats."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
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

    def ImportBrowseRecords(self, requests, context):
        answer = pb.ImportBrowseRecordsResponse()
        for request in requests:
            if request.crawl == "crawls/gone":
                context.abort(grpc.StatusCode.NOT_FOUND, "no such crawl")
            answer.batches.add(batch_id=f"{request.crawl} {request.batch_id}")
            answer.record_count += len(request.records) + len(request.columns.epoch_ms)
        return answer

    def MineSite(self, request, context):
        labels = [f"{label.url}={label.is_news}" for label in request.news_labels]
        summary = f"{request.name} {request.window_days} {request.news_threshold} {labels}"
        return pb.MineSiteResponse(policies=[pb.MinedPolicy(summary=summary)])

    def GetBrowseStats(self, request, context):
        return pb.GetBrowseStatsResponse(imported_batch_ids=[request.crawl, *request.batch_ids])


@pytest.fixture
def target() -> Iterator[str]:
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    pb_grpc.add_BrowseLogServiceServicer_to_server(FakeBrowseLogs(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


BATCHES = [
    ("1", [RECORD, RECORD]),
    pb.ImportBrowseRecordsRequest(batch_id="2", columns=pb.BrowseColumns(epoch_ms=[1])),
]
SUMMARY = "crawls/news/sites/a.org%3A81 30 1.5 ['http://a.org/=True', 'http://a.org/b=False']"
MINING = {
    "crawl": "news",
    "site": "a.org:81",
    "window_days": 30,
    "news_labels": {"http://a.org/": True, "http://a.org/b": False},
    "news_threshold": 1.5,
}


def test_the_blocking_client_sends_batches_as_pairs_and_as_messages(target: str) -> None:
    with Client(target) as client:
        got = client.import_browse_records(crawl="news", batches=BATCHES)
        assert [batch.batch_id for batch in got.batches] == ["crawls/news 1", "crawls/news 2"]
        assert got.record_count == 3
        assert client.mine_site(**MINING).policies[0].summary == SUMMARY
        stats = client.get_browse_stats(crawl="news", batch_ids=["1"])
        assert list(stats.imported_batch_ids) == ["crawls/news", "1"]
        with pytest.raises(err.NotFound):
            client.import_browse_records(crawl="gone", batches=BATCHES)


async def test_the_asyncio_client_sends_batches_of_any_iterable(target: str) -> None:
    async def later() -> AsyncIterator[object]:
        for batch in BATCHES:
            yield batch

    async with AsyncClient(target) as client:
        for batches in (BATCHES, later()):
            got = await client.import_browse_records(crawl="news", batches=batches)  # type: ignore[arg-type]
            assert [batch.batch_id for batch in got.batches] == ["crawls/news 1", "crawls/news 2"]
        assert (await client.mine_site(**MINING)).policies[0].summary == SUMMARY
        stats = await client.get_browse_stats(crawl="news", batch_ids=["1"])
        assert list(stats.imported_batch_ids) == ["crawls/news", "1"]
        with pytest.raises(err.NotFound):
            await client.import_browse_records(crawl="gone", batches=BATCHES)
