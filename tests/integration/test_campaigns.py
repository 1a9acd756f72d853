"""Small ones of the long runs `make fuzz`, `make fuzz-frontier`, `make kills` and `make faults`."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaigns import faults, fuzz, fuzz_frontier, kills
from support.frontier.process import frontier
from support.postgres import Postgres
from support.server_process import serving


@pytest.mark.long
def test_random_calls_to_a_server_find_nothing(tmp_path: Path) -> None:
    with serving(tmp_path) as process:
        assert fuzz.findings(process, seed=1, calls=300) == []


def test_random_calls_to_a_frontier_find_nothing(tmp_path: Path) -> None:
    with frontier(tmp_path, "--target", fuzz_frontier.NOWHERE) as process:
        assert fuzz_frontier.findings(process, seed=1, calls=200) == []


@pytest.mark.long
@pytest.mark.parametrize("n", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_kills_lose_nothing(n: int) -> None:
    done = kills.campaign(n, seed=2)
    assert done.problems == []
    assert done.killed.total() == n


@pytest.mark.slow
def test_faults_of_servers_over_one_database_lose_nothing(tmp_path: Path, database: Postgres) -> None:
    assert faults.campaign(list(faults.FAULTS), 1, tmp_path, database)
