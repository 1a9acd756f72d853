"""A real Scrapy crawl whose server is lost half way, beside Scrapy alone and beside a server that stays.

The server stays up behind a relay that is cut: an outage then lasts fetches, not seconds.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest

from linkscore_lab.crawls.demo import (
    DEMO_WANTED,
    Crawl,
    Mode,
    OwnServer,
    PageFetch,
    Testbed,
    breadth_first,
    demo_testbed,
    run_crawl,
    scored,
)

pytestmark = pytest.mark.slow

BUDGET, LOST_AT, BACK_AT = 240, 100, 140


class Relay:
    """A TCP relay on loopback that can be cut: then nobody listens, and who was connected is cut off."""

    def __init__(self, target: str) -> None:
        host, port = target.rsplit(":", 1)
        self._target = (host, int(port))
        self._open: list[socket.socket] = []
        self._listen(0)
        self.address = f"127.0.0.1:{self._listening.getsockname()[1]}"

    def _listen(self, port: int) -> None:
        self._listening = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, args=(self._listening,), daemon=True).start()

    def _accept(self, listening: socket.socket) -> None:
        with suppress(OSError):  # cut
            while True:
                client, _ = listening.accept()
                server = socket.create_connection(self._target)
                self._open += [client, server]
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):  # cut
            while piece := source.recv(65_536):
                sink.sendall(piece)
        self._hang_up([source, sink])

    def _hang_up(self, sockets: list[socket.socket]) -> None:
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def cut(self) -> None:
        """Be gone, as a server that was killed."""
        self._hang_up([self._listening, *self._open])
        self._open = []

    def mend(self) -> None:
        """Be back, at the same address."""
        self._listen(int(self.address.rsplit(":", 1)[1]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()


@pytest.fixture(scope="module")
def bed() -> Iterator[Testbed]:
    with demo_testbed(1) as made:
        yield made


@pytest.fixture
def relay(tmp_path: Path) -> Iterator[Relay]:
    (tmp_path / "data").mkdir()
    server = OwnServer(tmp_path / "data", tmp_path / "server.log", patience_s=300.0)
    server.start()
    with Relay(server.address) as made:
        yield made
    server.stop()


def crawl(bed: Testbed, mode: Mode, at: dict[int, Callable[[], None]] | None = None) -> Crawl:
    """Crawl, and do something when so many pages were fetched."""
    fetches: list[PageFetch] = []

    def fetched(fetch: PageFetch) -> None:
        fetches.append(fetch)
        (at or {}).get(len(fetches), lambda: None)()

    slow = replace(mode, settings={**mode.settings, "DOWNLOAD_DELAY": 0.05})
    return run_crawl(bed.site.entry, slow, BUDGET, fetched=fetched)


def share(bed: Testbed, done: Crawl, first: int, last: int) -> float:
    wanted = bed.wanted(DEMO_WANTED)
    fetches = done.fetches[first:last]
    return sum(fetch.identity in wanted for fetch in fetches) / len(fetches)


def test_a_server_that_never_comes_back_costs_less_than_scrapy_alone(bed: Testbed, relay: Relay) -> None:
    alone = crawl(bed, breadth_first())
    lost = crawl(bed, scored("harvest", relay.address, "end"), {LOST_AT: relay.cut})
    assert len(lost.fetches) == len(alone.fetches) == BUDGET
    assert share(bed, lost, LOST_AT, BUDGET) >= share(bed, alone, LOST_AT, BUDGET)
    assert lost.stats["linkscore/guessed"] > 0
    assert lost.stats["finish_reason"] == "budget"


def test_a_server_that_is_back_is_told_what_it_missed(bed: Testbed, relay: Relay) -> None:
    undisturbed = crawl(bed, scored("harvest", relay.address, "stays"))
    at = {LOST_AT: relay.cut, BACK_AT: relay.mend}
    disturbed = crawl(bed, scored("harvest", relay.address, "away"), at)
    stats = disturbed.stats
    late = stats["linkscore/late/pages"]
    assert stats["linkscore/pages"] + late == BUDGET
    assert late >= BACK_AT - LOST_AT - 1
    assert stats["linkscore/late/scored"] > 0
    back = LOST_AT + late
    assert share(bed, disturbed, back, BUDGET) >= share(bed, undisturbed, back, BUDGET) - 0.05
