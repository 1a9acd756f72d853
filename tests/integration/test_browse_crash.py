"""kill -9 while browse logs come in: batches are there wholly or not at all; no client id is on disk."""

from __future__ import annotations

import threading
from pathlib import Path

import grpc
import pytest

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from support.browse_logs.batches import batch_of
from support.server_process import ServerProcess, Stubs, refusal, serving, stubs

CRAWL = "crawls/logs"
DAY_S, START = 86_400, 20_000 * 86_400
CLIENT = "visitor-8f3a-198.51.100.77"
DAYS, N_BATCHES = 3, 60


def batch(number: int) -> pb.ImportBrowseRecordsRequest:
    """Return a batch of one visit a day, of a page of its own."""
    visits = [
        (START + day * DAY_S, f"{CLIENT}-{number}", f"http://a.org/{number}", "") for day in range(DAYS)
    ]
    return batch_of(str(number), visits, CRAWL)


def is_new(server: Stubs, number: int) -> bool:
    return not server.browse.ImportBrowseRecords(batch(number), timeout=60).duplicate


def stats(server: Stubs) -> pb.GetBrowseStatsResponse:
    return server.browse.GetBrowseStats(pb.GetBrowseStatsRequest(crawl=CRAWL))


class Sender(threading.Thread):
    """Sends batches one by one until the server is gone; remembers which were acknowledged."""

    def __init__(self, target: str, first: int, wake: threading.Event, after: int) -> None:
        super().__init__()
        self.acked: list[int] = []
        self._target, self._first, self._wake, self._after = target, first, wake, after

    def run(self) -> None:
        with stubs(self._target) as server:
            for number in range(self._first, N_BATCHES):
                try:
                    assert is_new(server, number)
                except grpc.RpcError:
                    return
                self.acked.append(number)
                if len(self.acked) >= self._after:
                    self._wake.set()


@pytest.mark.long
@pytest.mark.parametrize("after", [1, 7])
def test_what_was_acknowledged_is_there_and_nothing_is_half_there(after: int, tmp_path: Path) -> None:
    server, wake = ServerProcess(tmp_path), threading.Event()
    with stubs(server.target) as connected:
        connected.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name=CRAWL)))
    sender = Sender(server.target, 0, wake, after)
    sender.start()
    assert wake.wait(60)
    server.kill()
    sender.join(60)
    with serving(tmp_path) as again, stubs(again.target) as connected:
        got = stats(connected)
        acked, there = len(sender.acked), got.batch_count
        assert sender.acked == list(range(acked))
        assert there in (acked, acked + 1)
        assert got.sites[0].visit_count == got.visit_count == DAYS * there
        assert [is_new(connected, number) for number in range(there + 1)] == [False] * there + [True]
        assert stats(connected).sites[0].visit_count == DAYS * (there + 1)


def test_no_client_id_is_on_disk_or_in_the_log_and_deleting_the_crawl_erases_the_rest(tmp_path: Path) -> None:
    with serving(tmp_path, "--log-level", "debug") as server, stubs(server.target) as connected:
        connected.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name=CRAWL)))
        for number in range(3):
            assert is_new(connected, number)
        bad = batch(9)
        bad.batch_id = ""
        assert refusal(lambda: connected.browse.ImportBrowseRecords(bad)).violations
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert any(path.suffix == ".duckdb" for path in files)
        assert not [path for path in files if CLIENT.encode() in path.read_bytes()]
        connected.crawls.DeleteCrawl(crawl_pb.DeleteCrawlRequest(name=CRAWL))
        assert not list(tmp_path.rglob("*.duckdb*"))
