"""A server of several processes is one server: no kill loses a page, and any number of processes goes on."""

from __future__ import annotations

import os
import signal
import time
import urllib.request
from pathlib import Path

import grpc
import pytest

from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import policy_pb2
from support.crawl_calls import change, described, ingest
from support.fleet import SITES, Fleet, Load
from support.grouped_crawls import create, page_on
from support.server_process import PATIENCE_S, ServerProcess, serving, stubs, workers_of

pytestmark = pytest.mark.long


class Processes(Fleet):
    """The workers of one server, as servers that are asked by turns."""

    def __init__(self, server: ServerProcess) -> None:
        self.servers = [server]


def children_of(process: ServerProcess) -> list[int]:
    """Return the processes of the workers."""
    pid = process.process.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def ended(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def wait_until(is_so: object, patience_s: float = PATIENCE_S) -> None:
    until = time.monotonic() + patience_s
    while not is_so():  # type: ignore[operator]
        assert time.monotonic() < until, "not within the time"
        time.sleep(0.05)


def test_a_killed_worker_loses_no_acknowledged_page_and_comes_back(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2") as process:
        with stubs(process.target) as server:
            crawl = create(server, "killed", 4)
            shards = server.crawls.ListShards(crawl_pb.ListShardsRequest(crawl=crawl)).shards
            assert [row.group for row in shards] == [0, 1, 2, 3]
            assert {row.owner for row in shards} == {"worker 0", "worker 1"}
        load = Load(Processes(process), crawl)
        for victim in (0, 1):
            load.wait_for(50)
            killed = workers_of(process)[victim]
            os.kill(killed, signal.SIGKILL)
            wait_until(lambda pid=killed: len(workers_of(process)) == 2 and pid not in workers_of(process))
        load.end()
        load.check()
        assert process.terminate() == 0


def test_a_call_waits_for_a_worker_that_starts_again(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2") as process:
        with stubs(process.target) as server:
            crawl = create(server, "waits", 4)
        supervisor, killed = process.process.pid, workers_of(process)[1]
        os.kill(supervisor, signal.SIGSTOP)  # which would start it again
        try:
            os.kill(killed, signal.SIGKILL)
            # Its port is closed when the last of its threads has ended, not when the first one has.
            wait_until(lambda: "\nState:\tZ" in Path(f"/proc/{killed}/status").read_text())
            wait_until(lambda: len(list(Path(f"/proc/{killed}/task").iterdir())) == 1)
            with stubs(process.target, use_local_subchannel_pool=1) as server:
                rows = server.crawls.ListShards(crawl_pb.ListShardsRequest(crawl=crawl)).shards
                assert [(row.owner, row.state) for row in rows if row.trouble] == [
                    ("worker 1", crawl_pb.SHARD_STATE_SILENT)
                ]
                pages = [page_on(site, 0) for site in SITES]
                for page in pages[::2]:
                    page.event_id = ""  # nobody may send it twice
                request = pb.IngestPagesRequest(crawl=crawl, pages=pages)
                answer = server.links.IngestPages.future(request, timeout=PATIENCE_S)
                assert not answer.done()
                os.kill(supervisor, signal.SIGCONT)
                codes = {result.status.code for result in answer.result().results}
                assert codes == {common.ITEM_CODE_OK}
        finally:
            os.kill(supervisor, signal.SIGCONT)


def test_a_stopped_worker_is_replaced(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2") as process:
        with stubs(process.target) as server:
            crawl = create(server, "stopped", 4)
        stopped = workers_of(process)[1]
        os.kill(stopped, signal.SIGSTOP)
        wait_until(lambda: len(workers_of(process)) == 2 and stopped not in workers_of(process), 300)
        load = Load(Processes(process), crawl)
        load.wait_for(2 * len(SITES))
        load.end()
        said = [line["message"] for line in process.records()]
        assert f"worker 1, process {stopped}, is stopped, it is killed" in said


SLOW_TO_WRITE = """
import asyncio, os, sys
if "linkscore_server.front.workers" in sys.orig_argv:
    from linkscore_server.crawls.registry import CrawlRegistry
    close = CrawlRegistry.close
    async def slowly(registry):
        await asyncio.sleep(5.0)
        await close(registry)
    CrawlRegistry.close = slowly
"""
"""Run by Python as it starts: states are long in writing."""


def test_a_worker_that_is_told_to_stop_has_the_time_to_write_its_states(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SLOW_TO_WRITE)
    with serving(tmp_path, "--workers", "2", PYTHONPATH=str(tmp_path)) as process:
        process.process.send_signal(signal.SIGHUP)  # which says nothing to several processes
        os.kill(workers_of(process)[0], signal.SIGTERM)
        wait_until(lambda: " ended with " in process.log.read_text())
        ends = [line["message"] for line in process.records() if " ended with " in line["message"]]
    assert ends == ["worker 0 ended with 0"]


def test_any_number_of_workers_goes_on_with_the_same_folder(tmp_path: Path) -> None:
    expected = 0
    for workers in (3, 1):
        process = ServerProcess(tmp_path, "--workers", str(workers))
        with stubs(process.target) as server:
            for name, groups in (("whole", 1), ("parts", 4)):
                crawl = create(server, name, groups)
                assert described(server, crawl).page_count == expected
                new = [page_on(site, expected) for site in SITES]
                ingest(server, crawl, *new)
            listed = [crawl.name for crawl in server.crawls.ListCrawls(crawl_pb.ListCrawlsRequest()).crawls]
            assert listed == ["crawls/parts", "crawls/whole"]
        expected += len(SITES)
        assert process.terminate() == 0


def test_crawls_are_changed_and_deleted_whichever_worker_is_asked(tmp_path: Path) -> None:
    opic = policy_pb2.PolicySpec(opic=policy_pb2.OpicParams())
    with serving(tmp_path, "--workers", "2") as process:
        for name, groups in (("one", 1), ("two", 1), ("three", 3)):
            for step in ("create", "change", "delete"):
                with stubs(process.target) as server:  # a connection of its own: to one of the workers
                    crawl = f"crawls/{name}"
                    if step == "create":
                        assert create(server, name, groups) == crawl
                    elif step == "change":
                        change(server, crawl, policy=opic)
                        new = pb.IngestPagesRequest(crawl=crawl, pages=[page_on(site, 1) for site in SITES])
                        assert server.links.IngestPages(new).policy == "opic"
                    else:
                        server.crawls.DeleteCrawl(crawl_pb.DeleteCrawlRequest(name=crawl))
                        with pytest.raises(grpc.RpcError) as refused:
                            described(server, crawl)
                        assert refused.value.code() == grpc.StatusCode.NOT_FOUND


@pytest.mark.slow
def test_workers_end_with_who_started_them_and_hold_the_folder_until_then(tmp_path: Path) -> None:
    process = ServerProcess(tmp_path, "--workers", "2")
    with stubs(process.target) as server:
        crawl, pages = create(server, "parts", 4), [page_on(site, 0) for site in SITES]
        ingest(server, crawl, *pages)
    left = children_of(process)
    process.kill()
    wait_until(lambda: all(map(ended, left)))
    said = [(line["level"], line["message"]) for line in process.records()]
    assert "critical" not in {level.lower() for level, _ in said}
    quiet = "nobody is there to hear 'drained': the supervisor has ended"
    assert [level.lower() for level, message in said if message == quiet] == ["info"] * 2, "not the spare"
    with serving(tmp_path, "--workers", "2") as again, stubs(again.target) as server:
        assert described(server, crawl).page_count == len(SITES)


def test_metrics_are_of_all_workers(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2", "--metrics-listen", "127.0.0.1:0") as process:
        with stubs(process.target) as server:
            crawl = create(server, "streamed", 4)
            pages = [page_on(site, n) for n in range(3) for site in SITES]
            got = ingest(server, crawl, *pages)
        assert {result.status.code for result in got} == {common.ITEM_CODE_OK}
        [port] = {
            line["message"].rpartition(":")[2]
            for line in process.records()
            if "metrics on" in line["message"]
        }
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S) as answer:
            said = answer.read().decode().splitlines()
        counted = {
            number: float(line.rpartition(" ")[2])
            for number in (0, 1)
            for line in said
            if line.startswith(f'linkscore_pages_total{{outcome="ok",worker="{number}"}}')
        }
        assert sum(counted.values()) == len(pages)
        assert min(counted.values()) > 0
        assert 'linkscore_worker_up{worker="1"} 1.0' in said
