"""The Python clients do what docs/reference/clients.md asks of all, and the kit notices one that does not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from linkscore_lab.conformance import SCENARIOS, play

# It waits for a dead connection to be noticed, 15 s and more.
SLOW = {"silent_connection"}
DRIVER = (sys.executable, str(Path(__file__).parents[1] / "support/python_driver.py"))


def complaints(command: tuple[str, ...], names: set[str]) -> dict[str, str]:
    return {
        outcome.scenario: outcome.complaint
        for outcome in play(command, tuple(name for name in SCENARIOS if name in names))
        if outcome.complaint
    }


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--aio",)], ids=["blocking", "asyncio"])
def test_a_python_client_passes_every_scenario(flags: tuple[str, ...]) -> None:
    assert complaints((*DRIVER, *flags), set(SCENARIOS) - SLOW) == {}


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--aio",)], ids=["blocking", "asyncio"])
def test_a_python_client_notices_a_dead_connection(flags: tuple[str, ...]) -> None:
    assert complaints((*DRIVER, *flags), SLOW) == {}


def test_a_driver_that_ends_fails_its_scenario_and_no_run() -> None:
    told = complaints((sys.executable, "-c", "input()"), {"token", "feedback"})
    assert set(told) == {"token", "feedback"}
    assert "ended" in told["token"]
