"""Small ones of the long runs: what `make fuzz`, `make soak`, `make kills` and `make damage` do at length."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from campaigns import damage, fuzz, fuzz_files, fuzz_frontier, histories, kills, space
from campaigns.power import campaign as power
from campaigns.soak import Soak
from linkscore_server.grpc.access import RPCS
from support.frontier.process import frontier


@pytest.mark.parametrize("seed", [*fuzz.kept_seeds(), 0])
def test_a_session_of_inputs_finds_nothing(seed: int) -> None:
    assert asyncio.run(fuzz.Session(seed).run(fuzz.SESSION)) == []


def test_inputs_go_to_every_call_of_the_contract() -> None:
    assert {f"{method.containing_service.name}/{method.name}" for method in fuzz.METHODS} == set(RPCS)


def test_a_session_has_calls_of_nearly_every_kind_that_are_answered() -> None:
    session = fuzz.Session(1)
    asyncio.run(session.run(2_000))
    assert len(session.answered) > 0.8 * len(fuzz.METHODS)


@pytest.mark.parametrize(("kind", "inputs"), [("token file", 60), ("browse log", 8), ("archive", 6)])
def test_files_of_any_content_find_nothing(kind: str, inputs: int) -> None:
    done, found = fuzz_files.campaign(inputs, 1, [kind])
    assert found == []
    assert done[kind] == inputs


@pytest.mark.slow
def test_a_short_soak_finds_nothing(tmp_path: Path) -> None:
    soak = Soak(tmp_path, minutes=1.0, seed=2)
    soak.run()
    assert [problem for problem in soak.problems if " grew" not in problem] == []  # it ends too soon
    assert sum(soak.acked.values()) > 100
    assert soak.kills > 1


@pytest.mark.slow
def test_ten_kills_lose_nothing() -> None:
    done = kills.campaign(10, seed=2)
    assert done.problems == []
    assert done.killed.total() == 10


@pytest.mark.long
def test_several_clients_see_one_history_through_kills_stops_and_jumps_of_the_clock() -> None:
    done = histories.campaign(4, seed=3)
    assert done.problems == []
    assert done.calls["done"] > 20


@pytest.mark.slow
def test_a_disk_that_is_filled_and_freed_loses_nothing() -> None:
    if (done := space.campaign(2, seed=1)) is None:
        pytest.skip("only root may mount a tmpfs")
    assert done.problems == []
    assert done.refused > 0


@pytest.mark.slow
def test_power_cuts_and_histories_and_full_disks_at_length_find_nothing() -> None:
    assert power.recorded("--cuts", "100", "--seed", "4") in (0, None)
    assert histories.campaign(60, seed=4).problems == []
    assert (done := space.campaign(16, seed=4)) is None or done.problems == []


@pytest.mark.long
def test_power_cuts_lose_nothing() -> None:
    if (code := power.recorded("--cuts", "4", "--seed", "2")) is None:
        pytest.skip("power cuts need Linux and a C compiler")
    assert code == 0


@pytest.mark.slow
def test_power_cuts_notice_a_log_that_is_not_synced() -> None:
    if (code := power.recorded("--cuts", "40", "--seed", "2", "--no-sync")) is None:
        pytest.skip("power cuts need Linux and a C compiler")
    assert code == 1


@pytest.mark.slow
def test_no_damage_is_silently_wrong() -> None:
    table, wrong = damage.campaign(8, seed=2)
    assert wrong == []
    assert all(outcomes.total() == 8 for outcomes in table.values())


def test_random_calls_to_a_frontier_find_nothing(tmp_path: Path) -> None:
    with frontier(tmp_path, "--target", fuzz_frontier.NOWHERE, "--max-crawls", "100") as process:
        assert list(fuzz_frontier.findings(process, seed=1, calls=200)) == []
