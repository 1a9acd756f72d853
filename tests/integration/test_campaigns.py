"""Small ones of the long runs: what `make fuzz`, `make soak`, `make kills` and `make damage` do at length."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from campaigns import damage, fuzz, kills
from campaigns.soak import Soak
from linkscore_server.grpc.access import RPCS


@pytest.mark.parametrize("seed", [*fuzz.kept_seeds(), 0])
def test_a_session_of_inputs_finds_nothing(seed: int) -> None:
    assert asyncio.run(fuzz.Session(seed).run(fuzz.SESSION)) == []


def test_inputs_go_to_every_call_of_the_contract() -> None:
    assert {f"{method.containing_service.name}/{method.name}" for method in fuzz.METHODS} == set(RPCS)


def test_a_session_has_calls_of_nearly_every_kind_that_are_answered() -> None:
    session = fuzz.Session(1)
    asyncio.run(session.run(2_000))
    assert len(session.answered) > 0.8 * len(fuzz.METHODS)


@pytest.mark.slow
def test_a_short_soak_finds_nothing(tmp_path: Path) -> None:
    soak = Soak(tmp_path, minutes=1.0, seed=2)
    soak.run()
    assert [problem for problem in soak.problems if " grew" not in problem] == []  # it ends too soon
    assert sum(soak.acked.values()) > 100
    assert soak.kills > 1


@pytest.mark.slow
def test_ten_kills_lose_nothing() -> None:
    killed, problems = kills.campaign(10, seed=2)
    assert problems == []
    assert killed.total() == 10


@pytest.mark.slow
def test_no_damage_is_silently_wrong() -> None:
    table, wrong = damage.campaign(8, seed=2)
    assert wrong == []
    assert all(outcomes.total() == 8 for outcomes in table.values())
