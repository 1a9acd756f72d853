"""Workers over brokers are servers of a cluster: any may end, and what was acknowledged is there once."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from linkscore.v1 import crawl_service_pb2 as crawl_pb
from support.cluster.brokers import Brokers
from support.cluster.fleet import SITES, Fleet, Load, create, problems, silence_of
from support.cluster.links import Links
from support.server_process import PATIENCE_S

pytestmark = pytest.mark.slow

GROUPS = 16
SESSION_S = 8.0
Steps = tuple[Callable[[], object], Callable[[], object]]
"""What is done to the server, and how it is undone."""


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 2 * PATIENCE_S
    while not is_so():
        assert time.monotonic() < until, "not within the time"
        time.sleep(0.05)


def signal_a_worker(fleet: Fleet, name: str, number: int) -> Steps:
    """End a worker by a signal; another process takes its place."""

    def end() -> None:
        before = fleet.workers_of(name)
        os.kill(before[0], number)
        wait_until(lambda: before[0] not in fleet.workers_of(name))

    return end, lambda: None


def replace_workers(fleet: Fleet, name: str) -> Steps:
    def replace() -> None:
        before = set(fleet.workers_of(name))
        fleet.signal(name, signal.SIGHUP)
        wait_until(lambda: not before & set(fleet.workers_of(name)))

    return replace, lambda: None


def stop_and_start(fleet: Fleet, name: str, number: int) -> Steps:
    """End a supervisor by a signal; its workers end with it."""

    def end() -> None:
        workers = fleet.workers_of(name)
        fleet.end(name, number)
        wait_until(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
        if not fleet.running:
            fleet.start(name)

    def start() -> None:
        if name not in fleet.running:
            fleet.start(name)

    return end, start


@contextmanager
def under_load(fleet: Fleet, machines: str) -> Iterator[Load]:
    """Give what sends pages of all sites to servers, each a machine of several workers."""
    load = Load(fleet, f"crawls/{fleet.prefix}")
    try:
        for name in machines:
            fleet.start(name)
        create(fleet.targets()[0], crawl_pb.Crawl(name=load.crawl, groups=GROUPS))
        load.start()
        load.wait_for_all_sites(time.monotonic())
        yield load
    finally:
        load.stop()
        fleet.close()


@pytest.mark.parametrize(("machines", "workers"), [("a", 2), ("a", 3), ("ab", 2)])
@pytest.mark.timeout(1200)
async def test_workers_that_end_lose_and_double_nothing(
    brokers: Brokers,
    links: Links | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    machines: str,
    workers: int,
) -> None:
    prefix = f"members-{len(machines)}-{workers}"
    fleet = Fleet(tmp_path, brokers.hosts, prefix, session_s=SESSION_S, links=links, workers=workers)
    with under_load(fleet, machines) as load:
        faults = {
            "kill -9 of a worker": signal_a_worker(fleet, "a", signal.SIGKILL),
            "SIGSTOP of a worker": signal_a_worker(fleet, "a", signal.SIGSTOP),
            "SIGHUP of the supervisor": replace_workers(fleet, "a"),
            "SIGTERM of the supervisor": stop_and_start(fleet, "a", signal.SIGTERM),
            "kill -9 of the supervisor": stop_and_start(fleet, "a", signal.SIGKILL),
        }
        for name, steps in faults.items():
            silence_s = silence_of(load, *steps)
            with capsys.disabled():
                print(f"\n{len(machines)} x {workers}: {name:26} longest silence {silence_s:5.1f} s", end="")
    with capsys.disabled():
        print(f"\n{len(load.acknowledged)} pages")
    assert len(fleet.folders()) == len(machines) * workers
    assert await problems(fleet, load, GROUPS) == []


RATE_S = 15.0
"""How long pages of each number of workers are counted."""


@pytest.mark.timeout(1200)
async def test_pages_of_one_and_of_two_workers(
    brokers: Brokers, links: Links | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for workers in (1, 2):
        prefix = f"rate-{workers}"
        fleet = Fleet(
            tmp_path / prefix, brokers.hosts, prefix, session_s=SESSION_S, links=links, workers=workers
        )
        with under_load(fleet, "a") as load:
            before = len(load.acknowledged)
            time.sleep(RATE_S)
            pages = len(load.acknowledged) - before
        with capsys.disabled():
            print(f"\n{workers} workers, {len(SITES)} callers: {pages / RATE_S:.1f} pages/s", end="")
        assert await problems(fleet, load, GROUPS) == []
