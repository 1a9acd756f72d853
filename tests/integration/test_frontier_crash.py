"""A frontier that is killed at any moment loses no URL it acknowledged and gives none twice in a lease."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import grpc
import pytest

from linkscore_frontier import urlfrontier_pb2 as pb
from support.frontier.process import Crawler, FrontierProcess, discovered, known

LEASE_S = 3_600
HOSTS = 5
WANTED = pb.GetParams(max_queues=HOSTS, delay_requestable=LEASE_S, crawlID="DEFAULT")


class Crawl:
    """A crawler that puts, gets and finishes URLs as fast as it can, and remembers what it was told."""

    def __init__(self) -> None:
        self.acked: set[str] = set()
        self.given: list[str] = []
        self.done: set[str] = set()
        self.began = threading.Event()
        self._numbers = count()

    def run(self, target: str) -> None:
        """Crawl until the frontier is killed."""
        with Crawler(target) as crawler:
            try:
                crawler.stub.SetDelay(pb.QueueDelayParams(delay_requestable=0))
                while True:
                    self._put(crawler)
                    before = len(self.given)
                    for info in crawler.stub.GetURLs(WANTED):
                        self.given.append(info.url)
                    self._finish(crawler, self.given[before::2])
            except grpc.RpcError:
                return

    def _put(self, crawler: Crawler) -> None:
        urls = [f"http://h{n % HOSTS}.org/{n}" for n, _ in zip(self._numbers, range(50), strict=False)]
        for ack in crawler.stub.PutURLs(iter([discovered(url) for url in urls])):
            assert ack.status == pb.AckMessage.OK
            self.acked.add(ack.ID)
            self.began.set()

    def _finish(self, crawler: Crawler, urls: list[str]) -> None:
        for ack in crawler.stub.PutURLs(iter([known(url) for url in urls])):
            self.done.add(ack.ID)


def listed(crawler: Crawler) -> Iterator[pb.URLItem]:
    return crawler.stub.ListURLs(pb.ListUrlParams(size=10_000_000))


class Aftermath(NamedTuple):
    """What is found after the last kill: sets and counts that should be empty."""

    lost: set[str]
    undone: set[str]
    given_twice: int
    unaccounted: int


def kill_often(folder: Path, kills: int) -> Aftermath:
    """Kill a frontier at random moments of a crawl, and compare what it has with what it said."""
    crawl, chance = Crawl(), random.Random(7)
    for _ in range(kills):
        process = FrontierProcess(folder, "--target", "127.0.0.1:1")
        crawling = threading.Thread(target=crawl.run, args=(process.target,))
        crawl.began.clear()
        crawling.start()
        assert crawl.began.wait(60)  # however busy the machine is
        threading.Event().wait(chance.uniform(0.0, 0.5))
        process.kill()
        crawling.join()
    process = FrontierProcess(folder, "--target", "127.0.0.1:1")
    try:
        with Crawler(process.target) as crawler:
            found = {item.known.info.url: item.known.refetchable_from_date for item in listed(crawler)}
            while rest := [info.url for info in crawler.stub.GetURLs(WANTED)]:
                crawl.given += rest
            in_process = crawler.stats().inProcess
    finally:
        process.stop()
    done = sum(due == 0 for due in found.values())
    return Aftermath(
        lost=crawl.acked - set(found),
        undone={url for url in crawl.done if found[url]},
        given_twice=len(crawl.given) - len(set(crawl.given)),
        # What was leased and not heard of, its answer being on the way, is given when the lease is over.
        unaccounted=len(found) - in_process - done,
    )


NOTHING = Aftermath(lost=set(), undone=set(), given_twice=0, unaccounted=0)


@pytest.mark.long
@pytest.mark.parametrize("n", [5, pytest.param(200, marks=pytest.mark.slow)])
def test_kills_lose_nothing_and_give_nothing_twice(tmp_path: Path, n: int) -> None:
    assert kill_often(tmp_path, n) == NOTHING
