"""The Python clients do what docs/reference/clients.md asks of all, and the kit notices one that does not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from linkscore_lab.conformance import SCENARIOS, play

# It waits for a dead connection to be noticed, 15 s and more.
SLOW = {"silent_connection"}
DRIVER = (sys.executable, str(Path(__file__).parents[1] / "support/python_driver.py"))
NAIVE = (sys.executable, str(Path(__file__).parents[1] / "support/naive_client.py"))
# What plain stubs with gRPC's defaults do not do.
BEYOND_DEFAULTS = {
    "deadline_by_default",
    "large_answer",
    "unavailable_is_tried_again",
    "four_attempts_are_all",
    "user_agent",
    "token_file_is_read_anew",
    "error_details",
    "columns_left_out",
}


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


def test_a_client_of_plain_stubs_fails_what_stubs_do_not_do() -> None:
    assert set(complaints(NAIVE, BEYOND_DEFAULTS | {"buckets_by_name"})) == BEYOND_DEFAULTS


def test_a_driver_that_ends_fails_its_scenario_and_no_run() -> None:
    told = complaints((sys.executable, "-c", "input()"), {"token", "feedback"})
    assert set(told) == {"token", "feedback"}
    assert "ended" in told["token"]
