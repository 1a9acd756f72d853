"""A cluster under faults: every acknowledged page is in the log, once; every state is what the log says."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest
from cluster import Brokers
from fleet import COME_AGAIN, Fleet, Load, events_in_log, states_of

from linkscore.v1 import browse_log_service_pb2 as browse_pb
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from server_process import refusal, stubs

pytestmark = pytest.mark.slow

GROUPS = 16
SESSION_S = 8.0
"""Shorter than the default: a test waits for it often."""


async def test_faults_lose_and_double_nothing(
    brokers: Brokers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = Fleet(tmp_path, brokers.hosts, "faults", session_s=SESSION_S)
    crawl = crawl_pb.Crawl(name="crawls/faults", groups=GROUPS)
    load = Load(fleet, crawl.name)
    try:
        for name in "abc":
            fleet.start(name)
        create(fleet, crawl)
        with stubs(fleet.targets()[0]) as server:
            visits = browse_pb.ImportBrowseRecordsRequest(crawl=crawl.name)
            refused = refusal(lambda: server.browse.ImportBrowseRecords(iter([visits])))
        assert (refused.code, [*refused.violations]) == (grpc.StatusCode.INVALID_ARGUMENT, ["crawl"])
        load.start()
        load.wait_for_all_sites(time.monotonic())
        table = {name: silence_of(load, *steps) for name, steps in faults(fleet, brokers).items()}
    finally:
        load.stop()
        fleet.close()
    with capsys.disabled():
        print()
        for name, silence_s in table.items():
            print(f"{name:28} longest silence {silence_s:5.1f} s")
    acknowledged = [event for _, event in load.acknowledged]
    found = events_in_log(brokers.hosts, "faults", "faults", GROUPS)
    assert [event for event in acknowledged if not found[event]] == []
    expected, pages = await states_of(brokers.hosts, "faults", tmp_path / "judge", "faults", GROUPS)
    for name in "abc":
        folder = tmp_path / name / "data"
        states, _ = await states_of(brokers.hosts, "faults", folder, "faults", GROUPS)
        assert states == expected
    assert pages == len(found)  # a page that was sent again may be in the log twice, and counts once


def create(fleet: Fleet, crawl: crawl_pb.Crawl) -> None:
    """Create a crawl as a client does: again while slots are on their way to a server that just came."""
    deadline = time.monotonic() + 60
    with stubs(fleet.targets()[0]) as server:
        while True:
            try:
                server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl))
                return
            except grpc.RpcError as exc:
                if exc.code() not in COME_AGAIN or time.monotonic() > deadline:
                    raise
                time.sleep(0.5)


def faults(fleet: Fleet, brokers: Brokers) -> dict[str, tuple[Callable[[], None], Callable[[], None]]]:
    """Return what is done to the cluster, and how it is undone, by name."""
    return {
        "SIGTERM of a server": (
            lambda: fleet.end("a", signal.SIGTERM),
            lambda: fleet.start("a"),
        ),
        "kill -9 of a server": (
            lambda: fleet.end("b", signal.SIGKILL),
            lambda: fleet.start("b"),
        ),
        "SIGSTOP past the session": (
            lambda: stopped(fleet, "c"),
            lambda: fleet.signal("c", signal.SIGCONT),
        ),
        "kill -9 of a broker": (
            lambda: brokers.kill(1),
            lambda: (brokers.start_one(1), brokers.wait_for(3))[0],
        ),
    }


def stopped(fleet: Fleet, name: str) -> None:
    fleet.signal(name, signal.SIGSTOP)
    time.sleep(SESSION_S + 4)


def silence_of(load: Load, do: Callable[[], None], undo: Callable[[], None]) -> float:
    """Return the longest silence from a fault until it is undone and all sites are heard again."""
    began = time.monotonic()
    do()
    load.wait_for_all_sites(time.monotonic())
    undo()
    load.wait_for_all_sites(time.monotonic())
    return load.longest_silence(began, time.monotonic())
