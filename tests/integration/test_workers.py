"""A server of several processes is one server: no kill loses a page, and any number of processes goes on."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from linkscore import Client
from linkscore.errors import Unavailable
from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import policy_pb2
from support.server_process import PATIENCE_S, ServerProcess, Stubs, serving, stubs, workers_of
from support.small_site import HOST, page

pytestmark = pytest.mark.long

SITES = [f"site{n}.test" for n in range(8)]
AWAY = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


def page_on(site: str, n: int) -> common.Page:
    """Return page `n` of the small site as if it were of another host."""
    made = page(n, event_id=f"{site} {n}")
    made.url = made.url.replace(HOST, site)
    made.body = made.body.replace(HOST.encode(), site.encode())
    return made


def create(server: Stubs, name: str, groups: int) -> str:
    crawl = crawl_pb.Crawl(name=f"crawls/{name}", groups=groups)
    return server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl)).crawl.name


def pages_of(server: Stubs, crawl: str) -> int:
    return server.crawls.GetCrawl(crawl_pb.GetCrawlRequest(name=crawl)).crawl.page_count


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


class Load:
    """Sends every page of every site until it is acknowledged, from a thread a site."""

    def __init__(self, target: str, crawl: str, pages: int) -> None:
        self.target, self.crawl, self.pages = target, crawl, pages
        self.acknowledged: set[tuple[str, int]] = set()
        self.failures: list[BaseException] = []
        self.threads = [threading.Thread(target=self.send, args=(site,)) for site in SITES]

    def send(self, site: str) -> None:
        try:
            with stubs(self.target) as server:
                for n in range(self.pages):
                    self.until_acknowledged(server, site, n)
        except BaseException as exc:
            self.failures.append(exc)
            raise

    def until_acknowledged(self, server: Stubs, site: str, n: int) -> None:
        request = pb.IngestPagesRequest(crawl=self.crawl, pages=[page_on(site, n)])
        while True:
            try:
                [result] = server.links.IngestPages(request, timeout=PATIENCE_S).results
            except grpc.RpcError as exc:
                if exc.code() not in AWAY:
                    raise
                time.sleep(0.05)
                continue
            assert result.status.code in (common.ITEM_CODE_OK, common.ITEM_CODE_DUPLICATE)
            self.acknowledged.add((site, n))
            return


def test_a_killed_worker_loses_no_acknowledged_page_and_comes_back(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2") as process:
        with stubs(process.target) as server:
            crawl = create(server, "killed", 4)
            shards = server.crawls.ListShards(crawl_pb.ListShardsRequest(crawl=crawl)).shards
            assert [row.group for row in shards] == [0, 1, 2, 3]
            assert {row.owner for row in shards} == {"worker 0", "worker 1"}
        load = Load(process.target, crawl, pages=25)
        for thread in load.threads:
            thread.start()
        for victim in (0, 1):
            aim = (victim + 1) * 50
            wait_until(lambda aim=aim: len(load.acknowledged) >= aim or load.failures)
            killed = workers_of(process)[victim]
            os.kill(killed, signal.SIGKILL)
            wait_until(lambda pid=killed: len(workers_of(process)) == 2 and pid not in workers_of(process))
        for thread in load.threads:
            thread.join(2 * PATIENCE_S)
        assert load.failures == []
        assert len(load.acknowledged) == 25 * len(SITES)
        with stubs(process.target) as server:
            again = pb.IngestPagesRequest(
                crawl=crawl, pages=[page_on(site, n) for site, n in load.acknowledged]
            )
            codes = {result.status.code for result in server.links.IngestPages(again).results}
            assert (codes, pages_of(server, crawl)) == ({common.ITEM_CODE_DUPLICATE}, 25 * len(SITES))
        assert process.terminate() == 0


@pytest.mark.slow
def test_streams_through_a_killed_worker_end_as_unavailable_and_leave_no_traceback(tmp_path: Path) -> None:
    stop, codes = threading.Event(), set()

    def stream(site: str) -> None:
        def sent() -> Iterator[pb.StreamPagesRequest]:
            for n in itertools.count():
                if stop.is_set():
                    return
                yield pb.StreamPagesRequest(crawl=crawl, page=page_on(site, n % 30))
                stop.wait(0.01)

        with stubs(process.target, use_local_subchannel_pool=1) as server:
            while not stop.is_set():
                try:
                    for _ in server.links.StreamPages(sent(), timeout=PATIENCE_S):
                        answered.add(site)
                except grpc.RpcError as exc:
                    codes.add(exc.code())
                    stop.wait(0.1)

    answered: set[str] = set()
    with serving(tmp_path, "--workers", "2") as process:
        with stubs(process.target) as server:
            crawl = create(server, "streamed", 4)
        threads = [threading.Thread(target=stream, args=(site,)) for site in SITES]
        for thread in threads:
            thread.start()
        for victim in (0, 1):
            wait_until(lambda: len(answered) == len(SITES))
            killed = workers_of(process)[victim]
            os.kill(killed, signal.SIGKILL)
            wait_until(lambda pid=killed: len(workers_of(process)) == 2 and pid not in workers_of(process))
            answered.clear()
        wait_until(lambda: len(answered) == len(SITES))
        stop.set()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert process.terminate() == 0
        assert [
            line for line in process.records() if line["logger"] == "asyncio" or "exception" in line
        ] == []
    assert codes == {grpc.StatusCode.UNAVAILABLE}


def test_a_worker_that_somebody_else_ends_is_replaced(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2") as process:
        asked = workers_of(process)[0]
        os.kill(asked, signal.SIGTERM)
        wait_until(lambda: len(workers_of(process)) == 2 and asked not in workers_of(process))
        with stubs(process.target) as server:
            crawl = create(server, "asked", 4)
            assert pages_of(server, crawl) == 0
        assert process.terminate() == 0


def test_a_stopped_worker_is_replaced(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2") as process:
        with stubs(process.target) as server:
            crawl = create(server, "stopped", 4)
        stopped = workers_of(process)[1]
        os.kill(stopped, signal.SIGSTOP)
        wait_until(lambda: len(workers_of(process)) == 2 and stopped not in workers_of(process), 300)
        load = Load(process.target, crawl, pages=2)
        for thread in load.threads:
            thread.start()
        for thread in load.threads:
            thread.join(2 * PATIENCE_S)
        assert load.failures == []
        said = [line["message"] for line in process.records()]
        assert f"worker 1, process {stopped}, is stopped, it is killed" in said


def test_workers_are_replaced_and_no_page_is_lost(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2") as process:
        with stubs(process.target) as server:
            crawl = create(server, "replaced", 4)
        before, stop = workers_of(process), threading.Event()

        def send(site: str) -> None:
            with Client(process.target, timeout_s=PATIENCE_S) as client:
                for n in itertools.count():
                    if stop.is_set():
                        return
                    while True:
                        try:
                            client.ingest_pages(crawl=crawl, pages=[page_on(site, n)])
                            break
                        except Unavailable:
                            time.sleep(0.1)
                    sent[site] = n + 1

        sent = dict.fromkeys(SITES, 0)
        threads = [threading.Thread(target=send, args=(site,)) for site in SITES]
        for thread in threads:
            thread.start()
        wait_until(lambda: min(sent.values()) >= 5)
        process.process.send_signal(signal.SIGHUP)
        wait_until(lambda: any("all workers are replaced" in line["message"] for line in process.records()))
        after = dict(sent)
        wait_until(lambda: all(sent[site] > after[site] for site in SITES))
        stop.set()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert not set(before) & set(workers_of(process))
        with stubs(process.target) as server:
            assert pages_of(server, crawl) == sum(sent.values())


@pytest.mark.slow
def test_calls_while_workers_are_replaced_are_answered_or_unavailable(tmp_path: Path) -> None:
    stop, codes = threading.Event(), set()

    def ask() -> None:
        with stubs(process.target, use_local_subchannel_pool=1, enable_retries=0) as server:
            while not stop.is_set():
                try:
                    pages_of(server, crawl)
                except grpc.RpcError as exc:
                    codes.add(exc.code())

    with serving(tmp_path, "--workers", "2") as process:
        with stubs(process.target) as server:
            crawl = create(server, "asked", 4)
        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        process.process.send_signal(signal.SIGHUP)
        wait_until(
            lambda: any("all workers are replaced" in line["message"] for line in process.records()),
            3 * PATIENCE_S,
        )
        stop.set()
        for thread in threads:
            thread.join(PATIENCE_S)
    assert codes <= {grpc.StatusCode.UNAVAILABLE}


def test_any_number_of_workers_goes_on_with_the_same_folder(tmp_path: Path) -> None:
    expected = 0
    for workers in (3, 1):
        process = ServerProcess(tmp_path, "--workers", str(workers))
        with stubs(process.target) as server:
            for name, groups in (("whole", 1), ("parts", 4)):
                crawl = create(server, name, groups)
                assert pages_of(server, crawl) == expected
                new = [page_on(site, expected) for site in SITES]
                server.links.IngestPages(pb.IngestPagesRequest(crawl=crawl, pages=new))
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
                        changed = crawl_pb.Crawl(name=crawl, policy=opic)
                        server.crawls.UpdateCrawl(crawl_pb.UpdateCrawlRequest(crawl=changed))
                        new = pb.IngestPagesRequest(crawl=crawl, pages=[page_on(site, 1) for site in SITES])
                        assert server.links.IngestPages(new).policy == "opic"
                    else:
                        server.crawls.DeleteCrawl(crawl_pb.DeleteCrawlRequest(name=crawl))
                        with pytest.raises(grpc.RpcError) as refused:
                            pages_of(server, crawl)
                        assert refused.value.code() == grpc.StatusCode.NOT_FOUND


@pytest.mark.slow
def test_workers_end_with_who_started_them_and_hold_the_folder_until_then(tmp_path: Path) -> None:
    process = ServerProcess(tmp_path, "--workers", "2")
    with stubs(process.target) as server:
        crawl, pages = create(server, "parts", 4), [page_on(site, 0) for site in SITES]
        server.links.IngestPages(pb.IngestPagesRequest(crawl=crawl, pages=pages))
    left = children_of(process)
    process.kill()
    wait_until(lambda: all(map(ended, left)))
    said = [(line["level"], line["message"]) for line in process.records()]
    assert "critical" not in {level.lower() for level, _ in said}
    quiet = "nobody is there to hear 'drained': the supervisor has ended"
    assert [level.lower() for level, message in said if message == quiet] == ["info"] * 2, "not the spare"
    with serving(tmp_path, "--workers", "2") as again, stubs(again.target) as server:
        assert pages_of(server, crawl) == len(SITES)


def test_streams_and_metrics_are_of_all_workers(tmp_path: Path) -> None:
    with serving(tmp_path, "--workers", "2", "--metrics-listen", "127.0.0.1:0") as process:
        with stubs(process.target) as server:
            crawl = create(server, "streamed", 4)
            pages = [page_on(site, n) for n in range(3) for site in SITES]

            def sent() -> Iterator[pb.StreamPagesRequest]:
                for number, one in enumerate(pages):
                    yield pb.StreamPagesRequest(crawl="" if number else crawl, request_id=number, page=one)

            got = list(server.links.StreamPages(sent()))
        assert [answer.request_id for answer in got] == list(range(len(pages)))
        assert {answer.result.status.code for answer in got} == {common.ITEM_CODE_OK}
        [port] = {
            line["message"].rpartition(":")[2]
            for line in process.records()
            if "metrics on" in line["message"]
        }
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
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
