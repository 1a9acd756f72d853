"""A real Scrapy crawl whose server is lost half way, beside Scrapy alone and beside a server that stays.

The server stays up behind a relay that is cut: an outage then lasts fetches, not seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from linkscore_lab.conformance.fake import Relay
from linkscore_lab.crawls.demo import (
    DEMO_WANTED,
    Crawl,
    Mode,
    OwnServer,
    Testbed,
    breadth_first,
    demo_testbed,
    run_crawl,
    scored,
)

pytestmark = pytest.mark.slow

BUDGET, LOST_AT, BACK_AT = 240, 100, 140


class Line:
    """The way to a server: when it is cut nobody listens, and who was connected is cut off."""

    def __init__(self, target: str) -> None:
        self._port = int(target.rpartition(":")[2])
        self._relay = Relay(self._port)
        self.address = f"127.0.0.1:{self._relay.port}"

    def cut(self) -> None:
        """Be gone, as a server that was killed."""
        self._relay.__exit__()

    def mend(self) -> None:
        """Be back, at the same address."""
        self._relay = Relay(self._port, self._relay.port)


@pytest.fixture(scope="module")
def bed() -> Iterator[Testbed]:
    with demo_testbed(1) as made:
        yield made


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Line]:
    (tmp_path / "data").mkdir()
    server = OwnServer(tmp_path / "data", tmp_path / "server.log")
    server.start()
    made = Line(server.address)
    yield made
    made.cut()
    server.stop()


def crawl(bed: Testbed, mode: Mode, at: dict[int, Callable[[], None]] | None = None) -> Crawl:
    """Crawl, and do something when so many pages were fetched."""
    slow = replace(mode, settings={**mode.settings, "DOWNLOAD_DELAY": 0.05})
    return run_crawl(bed.site.entry, slow, BUDGET, fetched=lambda n: (at or {}).get(n, lambda: None)())


def share(bed: Testbed, done: Crawl, first: int, last: int) -> float:
    wanted = bed.wanted(DEMO_WANTED)
    fetches = done.fetches[first:last]
    return sum(fetch.identity in wanted for fetch in fetches) / len(fetches)


def test_a_server_that_never_comes_back_costs_less_than_scrapy_alone(bed: Testbed, line: Line) -> None:
    alone = crawl(bed, breadth_first())
    lost = crawl(bed, scored("harvest", line.address, "end"), {LOST_AT: line.cut})
    assert len(lost.fetches) == len(alone.fetches) == BUDGET
    assert share(bed, lost, LOST_AT, BUDGET) >= share(bed, alone, LOST_AT, BUDGET)
    assert lost.stats["linkscore/guessed"] > 0
    assert lost.stats["finish_reason"] == "budget"


def test_a_server_that_is_back_is_told_what_it_missed(bed: Testbed, line: Line) -> None:
    undisturbed = crawl(bed, scored("harvest", line.address, "stays"))
    at = {LOST_AT: line.cut, BACK_AT: line.mend}
    disturbed = crawl(bed, scored("harvest", line.address, "away"), at)
    stats = disturbed.stats
    late = stats["linkscore/late/pages"]
    assert stats["linkscore/pages"] + late == BUDGET
    assert late >= BACK_AT - LOST_AT - 1
    assert stats["linkscore/late/scored"] > 0
    back = LOST_AT + late
    assert share(bed, disturbed, back, BUDGET) >= share(bed, undisturbed, back, BUDGET) - 0.05
