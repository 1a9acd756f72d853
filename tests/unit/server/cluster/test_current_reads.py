"""A read that asks for the current state has every acknowledged page, whichever process it reaches."""

from __future__ import annotations

import pytest

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from linkscore_server.crawls.actor import CrawlActor
from simulation.faults import run, wait
from simulation.fleet import NAMES, Fleet

SEEDS = range(50, 60)  # some of which have answers that are old, where nobody asked for the current state
BEFORE = 6  # pages that are acknowledged before a server is held up; those of all sites are some 50


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(2))
def test_who_was_held_up_during_a_takeover_does_not_claim_to_be_current(name: str, seed: int) -> None:
    fleet = held_up_during_a_takeover(name, seed)
    assert fleet.trouble == []
    assert fleet.stale > 0  # of reads that do not ask for it: else this tries nothing


def test_whatever_fails_no_read_of_the_current_state_is_old() -> None:
    assert sum(run(seed, are_read=True).stale for seed in SEEDS) > 0


async def believe(_: CrawlActor) -> None:
    """Take an actor's word for it."""


def test_a_server_that_does_not_ask_its_log_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CrawlActor, "confirm", believe)
    assert held_up_during_a_takeover("a", 0).trouble != []


def held_up_during_a_takeover(name: str, seed: int) -> Fleet:
    """Return a fleet one of whose servers was stopped, while others took its slots and took in pages.

    Reads of all of them wait for it when it goes on.
    """
    fleet = Fleet(seed, are_read=True)
    with fleet.played():
        for each in NAMES:
            fleet.start(each)
        wait(fleet, lambda: all(server.is_serving for server in fleet.servers.values()), "start")
        fleet.create()
        wait(fleet, lambda: len(fleet.acknowledged) > BEFORE, "pages")
        process = fleet.servers[name].process
        process.is_paused = True
        wait(fleet, lambda: fleet.is_done, "all pages")
        fleet.look_again()
        process.is_paused = False
        fleet.world.run(lambda: bool(fleet.trouble), 60)
    return fleet
