"""The simulation of what a cluster costs: what comes of it follows from what it is given."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linkscore_research.cluster_costs import (
    OWNER_MS,
    REPLAY_MS,
    SILENCE_S,
    SNAPSHOT_EVENTS,
    Cluster,
    simulate,
)

SMALL = Cluster(owners=4, slots=8, groups=16, pages_s=300, fault_s=0, seconds=120)


@pytest.mark.parametrize("pages_a_call", OWNER_MS)
def test_without_faults_owners_are_as_busy_as_pages_cost(pages_a_call: int) -> None:
    found = simulate(replace(SMALL, pages_a_call=pages_a_call))
    assert found == simulate(replace(SMALL, pages_a_call=pages_a_call))
    assert found.pages == pytest.approx(300 * 120, rel=0.05)
    assert found.busy == pytest.approx(300 / 4 * OWNER_MS[pages_a_call] / 1e3, rel=0.05)
    assert found.wait_max_s < 1


def test_of_more_than_owners_can_do_pages_wait_ever_longer() -> None:
    found = simulate(replace(SMALL, pages_s=2_000))
    assert found.busy == pytest.approx(1, rel=0.01)
    assert found.wait_max_s > 100


def test_a_failed_owner_keeps_pages_waiting_and_its_heirs_replay() -> None:
    calm, found = simulate(SMALL), simulate(replace(SMALL, fault_s=50, back_s=20))
    replayed_s = 2 * SNAPSHOT_EVENTS * REPLAY_MS / 1e3  # of the groups of a slot at most
    assert calm.wait_max_s < SILENCE_S <= found.wait_max_s < 2 * (SILENCE_S + replayed_s)
    assert found.busy > calm.busy
    assert found.pages == pytest.approx(calm.pages, rel=0.05)


def test_sites_that_do_not_fit_are_read_back() -> None:
    fitting, evicted = (simulate(replace(SMALL, pages_s=100, delay_s=delay_s)) for delay_s in (1, 1_000))
    assert evicted.busy > 2 * fitting.busy
