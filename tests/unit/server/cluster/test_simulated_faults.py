"""Orders of faults that no run in earnest reaches, drawn by seed in virtual time; see `tests/simulation`."""

from __future__ import annotations

import os
import string

import pytest

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from linkscore_server.storage.base import Store
from linkscore_server.storage.kafka.log import KafkaLog
from linkscore_server.storage.kafka.records import LogState
from linkscore_server.storage.kafka.store import KafkaStore
from simulation.faults import run
from simulation.fleet import NAMES, SLOTS

SEEDS = 20  # some 4 s; more are slow
MANY = int(os.environ.get("SEEDS", "3000"))  # some ten minutes
PARTS = 10
"""Tests that many seeds are spread over: one alone takes longer than a test may."""
BROKEN = 60
"""Seeds within which a cluster that is broken on purpose is found."""


def test_nothing_is_lost_or_done_twice_and_all_agree_in_the_end() -> None:
    assert faults_of(range(SEEDS)) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_the_same_of_many_seeds(part: int) -> None:
    assert faults_of(range(SEEDS + part, SEEDS + MANY, PARTS)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("servers", "slots", "share"), [(12, 16, 50), (32, 64, 250)])
def test_the_same_of_larger_clusters(servers: int, slots: int, share: int) -> None:
    names = string.ascii_letters[:servers]
    assert faults_of(range(MANY // share), names, slots) == []  # each some 1 and 7 s


def test_a_seed_gives_the_same_run_again() -> None:
    assert run(7).digest() == run(7).digest() != run(8).digest()


def test_a_log_that_fences_nobody_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KafkaLog, "_is_mine", lambda log, at: True)
    assert first_bad_seed() < BROKEN


def test_an_append_of_unknown_outcome_that_is_taken_for_done_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    append = KafkaLog._send

    def hopeful(log: KafkaLog, key: bytes | None, value: bytes) -> int:
        try:
            return append(log, key, value)
        except OSError:
            return log._state.offset

    monkeypatch.setattr(KafkaLog, "_send", hopeful)
    assert first_bad_seed() < BROKEN


@pytest.mark.slow
def test_an_empty_log_that_is_erased_while_another_process_fills_it_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(KafkaStore, "forget", Store.forget)
    rare = 200  # the first seed that draws such an order is 212
    assert first_bad_seed(rare) < rare + BROKEN


def test_a_place_that_passes_over_a_record_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    pack = LogState.pack

    def later(state: LogState) -> bytes:
        wrong = state.copy()
        wrong.offset += 2  # its own record, and one more
        return pack(wrong)

    monkeypatch.setattr(LogState, "pack", later)
    assert first_bad_seed() < BROKEN


def faults_of(seeds: range, names: str = NAMES, slots: int = SLOTS) -> list[str]:
    """Return what the first seed at fault found."""
    for seed in seeds:
        try:
            run(seed, names=names, slots=slots)
        except AssertionError as exc:
            return [f"seed {seed}: {exc}"]
    return []


def first_bad_seed(first: int = 0) -> int:
    for seed in range(first, first + BROKEN):
        try:
            run(seed)
        except Exception:
            return seed
    return first + BROKEN
