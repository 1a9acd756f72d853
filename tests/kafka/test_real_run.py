"""What three real owners and a front spend, for the simulation of what a cluster costs to be held against.

Its side of the table: `linkscore_research.cluster_costs.simulate` of 3 owners at the same rate and groups.
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import numpy as np
import pytest
from benchmarks.pages import Corpus
from benchmarks.workers import cpu_s, sites_of
from numpy.typing import NDArray

from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.cluster.brokers import Brokers
from support.cluster.fleet import CALL_S, COME_AGAIN, Fleet, create
from support.cluster.links import Links
from support.server_process import stubs

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Exception ignored in. <_io.FileIO")]

CORPORA = Path(os.environ.get("CORPORA", "corpora"))
"""Stored sites; without any, the pages are of the demonstration site."""
RATE = float(os.environ.get("RATE", "16"))
"""Pages a second: a processor of two is left for callers and brokers, and the stored pages last."""
IDLE_S, WARM_S, CALM_S, AWAY_S = 15.0, 20.0, 40.0, 30.0
"""Time without pages; in which processes load what a first page needs; without a fault; of a killed owner."""
OWNERS, GROUPS, SESSION_S = "abc", 16, 8.0


@dataclass(slots=True)
class Paced:
    """Sends the pages of each site when they are due, each until it is acknowledged.

    Attributes
    ----------
    waits
        When each page was due, and seconds from then to its acknowledgement.
    """

    target: str
    sites: Sequence[Sequence[common.Page]]
    waits: list[tuple[float, float]] = field(default_factory=list)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self, crawl: str) -> None:
        """Begin."""
        began, every_s = time.monotonic(), len(self.sites) / RATE
        for number, pages in enumerate(self.sites):
            first = began + every_s * number / len(self.sites)
            thread = threading.Thread(target=self._send, args=(crawl, pages, first, every_s))
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """End when what was sent is acknowledged."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def of(self, since: float, until: float) -> NDArray[np.float64]:
        """Return the waits of pages that were due between two times."""
        return np.array([wait for at, wait in self.waits if since <= at < until])

    def _send(self, crawl: str, pages: Sequence[common.Page], first: float, every_s: float) -> None:
        with stubs(self.target, use_local_subchannel_pool=1) as server:
            for due, page in zip(itertools.count(first, every_s), pages, strict=False):
                if self._stopping.wait(max(0.0, due - time.monotonic())):
                    return
                request = pb.IngestPagesRequest(crawl=crawl, pages=[page])
                while not self._is_acknowledged(server, request):
                    time.sleep(0.1)
                self.waits.append((due, time.monotonic() - due))

    def _is_acknowledged(self, server: object, request: pb.IngestPagesRequest) -> bool:
        try:
            server.links.IngestPages(request, timeout=CALL_S)  # type: ignore[attr-defined]
        except grpc.RpcError as exc:
            if exc.code() not in COME_AGAIN:
                raise
            return False
        return True


@pytest.mark.timeout(1200)
def test_three_owners_in_earnest_go_on_without_one(
    brokers: Brokers, links: Links | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = Fleet(tmp_path, brokers.hosts, "real", session_s=SESSION_S, links=links)
    try:
        for name in OWNERS:
            fleet.start(name, "owner")
        fleet.start("front", "front")
        target = fleet.running["front"].target
        create(target, crawl_pb.Crawl(name="crawls/real", groups=GROUPS))
        load = Paced(target, list(sites_of(Corpus(CORPORA))))
        pids = [fleet.running[name].process.pid for name in OWNERS]
        before = sum(map(cpu_s, pids))
        time.sleep(IDLE_S)
        idle = (sum(map(cpu_s, pids)) - before) / IDLE_S  # of a second, of all owners
        load.start("crawls/real")
        try:
            time.sleep(WARM_S)
            began, before, n = time.monotonic(), sum(map(cpu_s, pids)), len(load.waits)
            time.sleep(CALM_S)
            killed, spent_s, n = time.monotonic(), sum(map(cpu_s, pids)) - before, len(load.waits) - n
            fleet.end(OWNERS[0], signal.SIGKILL)
            time.sleep(AWAY_S)
            until = time.monotonic()
        finally:
            load.stop()
        calm, fault = load.of(began, killed), load.of(killed, until)
    finally:
        fleet.close()
    rows = {
        "pages/s": n / CALM_S,
        "share of an owner's core in use": spent_s / CALM_S / 3,
        "of it without a page": idle / 3,
        "CPU of a page at its owner beyond that, ms": 1e3 * (spent_s - idle * CALM_S) / n,
        "wait p50, s": np.median(calm),
        "wait p99, s": np.quantile(calm, 0.99),
        "longest wait, s": calm.max(),
        "longest wait after kill -9 of an owner, s": fault.max(),
    }
    with capsys.disabled():
        print(
            "\n| | real |\n|---|---|", *(f"| {name} | {real:.3f} |" for name, real in rows.items()), sep="\n"
        )
    assert len(calm) >= 1, "no page was acknowledged"
    assert len(fault) >= len(calm) * AWAY_S / CALM_S / 2, "the others did not go on"
