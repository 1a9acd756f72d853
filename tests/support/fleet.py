"""Several servers over one PostgreSQL, and callers that send every page until it is acknowledged."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import grpc

from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.grouped_crawls import create, page_on
from support.server_process import PATIENCE_S, ServerProcess, stubs

SITES = [f"site{n}.test" for n in range(8)]
_AWAY = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED, grpc.StatusCode.DEADLINE_EXCEEDED)
_CALL_S = 1.0


class Fleet:
    """The servers; `targets` are the addresses of those that run."""

    def __init__(self, folder: Path, dsn: str) -> None:
        self._folder, self._dsn = folder, dsn
        self._numbers = itertools.count()
        self.servers: list[ServerProcess] = []

    def start(self) -> ServerProcess:
        """Start one more."""
        folder = self._folder / f"server{next(self._numbers)}"
        server = ServerProcess(folder, "--data-dir", self._dsn, "--peers-listen", "127.0.0.1:0")
        self.servers.append(server)
        return server

    def remove(self, server: ServerProcess) -> None:
        """Have one no more that has ended."""
        self.servers.remove(server)

    @property
    def targets(self) -> list[str]:
        return [server.target for server in self.servers]

    def create(self, name: str, groups: int) -> str:
        """Create a crawl by the first server."""
        with stubs(self.targets[0]) as server:
            return create(server, name, groups)

    def pages(self, crawl: str) -> list[int]:
        """Return the pages of a crawl as each server says."""
        found = []
        for target in self.targets:
            with stubs(target) as server:
                request = crawl_pb.GetCrawlRequest(name=crawl)
                got = server.crawls.GetCrawl(request, timeout=PATIENCE_S)
                found.append(got.crawl.page_count)
        return found


@contextmanager
def fleet(folder: Path, dsn: str, n: int) -> Iterator[Fleet]:
    """Run servers for as long as the context lasts."""
    made = Fleet(folder, dsn)
    try:
        for _ in range(n):
            made.start()
        yield made
    finally:
        for server in made.servers:
            server.stop()


class Load:
    """Sends pages of every site until each is acknowledged, from a thread a site, to any server that answers.

    Attributes
    ----------
    acknowledged
        Sites and numbers of pages.
    times
        By site, when each of its pages was.
    """

    def __init__(self, fleet: Fleet, crawl: str) -> None:
        self._fleet, self._crawl = fleet, crawl
        self._stopping = threading.Event()
        self.acknowledged: list[tuple[str, int]] = []
        self.times: dict[str, list[float]] = {site: [time.monotonic()] for site in SITES}
        self.failures: list[BaseException] = []
        self._threads = [threading.Thread(target=self._send, args=(site,), daemon=True) for site in SITES]
        for thread in self._threads:
            thread.start()

    def wait_for(self, more: int) -> None:
        """Wait until so many more pages are acknowledged."""
        aim, until = len(self.acknowledged) + more, time.monotonic() + 2 * PATIENCE_S
        while len(self.acknowledged) < aim:
            assert not self.failures, self.failures
            assert time.monotonic() < until, f"{len(self.acknowledged)} of {aim} pages acknowledged"
            time.sleep(0.02)

    def wait_for_all(self) -> None:
        """Wait until every site has pages acknowledged that were sent from now on."""
        aims = {site: len(times) + 2 for site, times in self.times.items()}
        while any(len(self.times[site]) < aim for site, aim in aims.items()):
            self.wait_for(1)

    def silence(self, since_s: float) -> float:
        """Return the longest time for which a site had no page acknowledged since a moment."""
        found = 0.0
        for times in self.times.values():
            later = [at for at in times if at > since_s]
            found = max(found, *(after - at for at, after in pairwise([since_s, *later])))
        return found

    def end(self) -> None:
        """Stop sending once what is under way is acknowledged."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(2 * PATIENCE_S)
        assert self.failures == []

    def _send(self, site: str) -> None:
        try:
            for n in itertools.count():
                if self._stopping.is_set():
                    return
                self._until_acknowledged(site, n)
                self.times[site].append(time.monotonic())
                self.acknowledged.append((site, n))
        except BaseException as exc:
            self.failures.append(exc)

    def _until_acknowledged(self, site: str, n: int) -> None:
        request = pb.IngestPagesRequest(crawl=self._crawl, pages=[page_on(site, n)])
        for turn in itertools.count(SITES.index(site)):
            targets: Sequence[str] = self._fleet.targets
            try:
                with stubs(targets[turn % len(targets)]) as server:
                    [result] = server.links.IngestPages(request, timeout=_CALL_S).results
            except grpc.RpcError as exc:
                if exc.code() not in _AWAY:
                    raise
                time.sleep(0.05)
                continue
            assert result.status.code in (common.ITEM_CODE_OK, common.ITEM_CODE_DUPLICATE), result
            return

    def check(self) -> None:
        """See that each page that was acknowledged counts once, whichever server is asked."""
        until = (
            time.monotonic() + PATIENCE_S
        )  # a server that was held up hears within a second what it missed
        while set(found := self._fleet.pages(self._crawl)) != {len(self.acknowledged)}:
            assert time.monotonic() < until, f"{found} pages, {len(self.acknowledged)} acknowledged"
            time.sleep(0.2)
        with stubs(self._fleet.targets[0]) as server:
            for start in range(0, len(self.acknowledged), 100):
                some = [page_on(*one) for one in self.acknowledged[start : start + 100]]
                again = pb.IngestPagesRequest(crawl=self._crawl, pages=some)
                codes = {result.status.code for result in server.links.IngestPages(again).results}
                assert codes == {common.ITEM_CODE_DUPLICATE}
