"""Small ones of the long runs `make fuzz`, `make fuzz-frontier` and `make kills`."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaigns import fuzz, fuzz_frontier, kills
from support.frontier.process import frontier
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
