"""A cluster under faults: every acknowledged page is in the log, once; every state is what the log says."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from linkscore.v1 import crawl_service_pb2 as crawl_pb
from support.cluster.brokers import Brokers
from support.cluster.fleet import Fleet, Load, create, problems, silence_of
from support.cluster.links import Links

pytestmark = pytest.mark.slow

NAMES = "abc"
GROUPS = 16
SESSION_S = float(os.environ.get("SESSION", "8"))
"""Shorter than the default, which is 15: a test waits for it often."""

AWAY_S = 30.0
"""How long all brokers are stopped: longer than any session, and than an append waits for them."""

MIXED = int(os.environ.get("FAULTS", "6"))
"""Faults of the mixed run: `make test-kafka FAULTS=50`, half a minute each."""

Steps = tuple[Callable[[], None], Callable[[], None]]
"""What is done to the cluster, and how it is undone."""


@contextmanager
def under_load(folder: Path, hosts: str, prefix: str, links: Links | None) -> Iterator[tuple[Fleet, Load]]:
    """Give servers with a crawl that goes by the prefix, to which pages of all sites are sent meanwhile."""
    fleet = Fleet(folder, hosts, prefix, session_s=SESSION_S, links=links)
    crawl = crawl_pb.Crawl(name=f"crawls/{prefix}", groups=GROUPS)
    load = Load(fleet, crawl.name)
    try:
        for name in NAMES:
            fleet.start(name)
        create(fleet.targets()[0], crawl)
        load.start()
        load.wait_for_all_sites(time.monotonic())
        yield fleet, load
    finally:
        load.stop()
        fleet.close()


def stop_and_start(fleet: Fleet, name: str, number: int) -> Steps:
    return lambda: fleet.end(name, number), lambda: fleet.start(name)


def stop_past_the_session(fleet: Fleet, name: str) -> Steps:
    def stop() -> None:
        fleet.signal(name, signal.SIGSTOP)
        time.sleep(SESSION_S + 4)

    return stop, lambda: fleet.signal(name, signal.SIGCONT)


def cut_past_the_session(links: Links, name: str) -> Steps:
    def cut() -> None:
        links.cut(name)
        time.sleep(SESSION_S + 4)

    return cut, lambda: links.mend(name)


def kill_broker(brokers: Brokers, number: int) -> Steps:
    def start() -> None:
        brokers.start_one(number)
        brokers.wait_for(3)

    return lambda: brokers.kill(number), start


def stop_all_brokers(brokers: Brokers) -> Steps:
    def stop() -> None:
        for number in range(3):
            brokers.signal(number, signal.SIGSTOP)
        time.sleep(AWAY_S)
        for number in range(3):
            brokers.signal(number, signal.SIGCONT)

    return stop, lambda: None


async def test_faults_lose_and_double_nothing(
    brokers: Brokers, links: Links | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with under_load(tmp_path, brokers.hosts, "faults", links) as (fleet, load):
        faults = {
            "SIGTERM of a server": stop_and_start(fleet, "a", signal.SIGTERM),
            "kill -9 of a server": stop_and_start(fleet, "b", signal.SIGKILL),
            "SIGSTOP past the session": stop_past_the_session(fleet, "c"),
            "kill -9 of a broker": kill_broker(brokers, 1),
            "a server more, then less": (lambda: fleet.start("d"), lambda: fleet.end("d", signal.SIGTERM)),
            f"all brokers stopped for {AWAY_S:g} s": stop_all_brokers(brokers),
        }
        if links is not None:
            faults["link of a server cut"] = cut_past_the_session(links, "a")
        for name, steps in faults.items():
            silence_s = silence_of(load, *steps)
            with capsys.disabled():
                print(f"\n{name:28} longest silence {silence_s:5.1f} s")
    with capsys.disabled():
        print(f"\n{len(load.acknowledged)} pages")
    assert await problems(fleet, load, GROUPS) == []


@pytest.mark.timeout(600 + 120 * MIXED)
async def test_mixed_faults_lose_and_double_nothing(
    brokers: Brokers, links: Links | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draws = random.Random(14)
    longest_s = 0.0
    with under_load(tmp_path, brokers.hosts, "mixed", links) as (fleet, load):
        for _ in range(MIXED):
            name = draws.choice(NAMES)
            steps = [
                stop_and_start(fleet, name, signal.SIGTERM),
                stop_and_start(fleet, name, signal.SIGKILL),
                stop_past_the_session(fleet, name),
                kill_broker(brokers, draws.randrange(3)),
            ]
            if links is not None:
                steps.append(cut_past_the_session(links, name))
            longest_s = max(longest_s, silence_of(load, *draws.choice(steps)))
    with capsys.disabled():
        print(f"\n{MIXED} mixed faults, {len(load.acknowledged)} pages, longest silence {longest_s:.1f} s")
    assert await problems(fleet, load, GROUPS) == []
