"""Browse logs on disk: no client id is there, and a deleted crawl leaves nothing."""

from __future__ import annotations

from pathlib import Path

from linkscore.v1 import crawl_service_pb2 as crawl_pb
from support.browse_logs.batches import batch_of
from support.server_process import refusal, serving, stubs

CRAWL = "crawls/logs"
CLIENT = "visitor-8f3a-198.51.100.77"
VISITS = [(day * 86_400, CLIENT, "http://a.org/1", "") for day in range(20_000, 20_003)]


def test_no_client_id_is_on_disk_or_in_the_log_and_deleting_the_crawl_erases_the_rest(tmp_path: Path) -> None:
    with serving(tmp_path, "--log-level", "debug") as server, stubs(server.target) as connected:
        connected.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name=CRAWL)))
        for number in range(3):
            connected.browse.ImportBrowseRecords(batch_of(str(number), VISITS, CRAWL))
        bad = batch_of("", VISITS, CRAWL)
        assert refusal(lambda: connected.browse.ImportBrowseRecords(bad)).violations
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert any(path.suffix == ".duckdb" for path in files)
        assert not [path for path in files if CLIENT.encode() in path.read_bytes()]
        connected.crawls.DeleteCrawl(crawl_pb.DeleteCrawlRequest(name=CRAWL))
        assert not list(tmp_path.rglob("*.duckdb*"))
