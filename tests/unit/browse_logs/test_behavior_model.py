"""What is mined from a small board, and that it survives its state."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkscore_scoring.browse_logs.behavior import (
    BehaviorModel,
    discovery_gain,
    mine_behavior,
    newcomer_demand,
    own_demand,
)
from linkscore_scoring.hashing import hash64
from support.browse_logs.records import board_log, counted


@pytest.fixture(scope="module")
def model() -> BehaviorModel:
    found = mine_behavior(board_log())
    assert found is not None
    return found


def demand(model: BehaviorModel, path: str) -> float:
    url = f"http://h{path}"
    return model.demand(model.place(url, hash64(url)))


def test_a_page_that_the_log_does_not_have_is_worth_a_newcomer_of_its_pattern(model: BehaviorModel) -> None:
    new, other = (demand(model, path) for path in ("/show?t=130", "/who?u=770"))
    assert new > other >= 0.0


def test_recent_days_count_more_and_steady_pages_have_their_rate() -> None:
    counts = counted(
        [*((day, "/steady", "") for day in range(10)), *[(9, "/new", "")] * 4, (0, "/old", "")], 10
    )
    demand = dict(zip(counts.urls, own_demand(counts).tolist(), strict=True))
    total = sum(math.exp(-day / 4) for day in range(10))
    assert demand["http://h/steady"] == pytest.approx(1.0)
    assert demand["http://h/new"] == pytest.approx(4 / total)
    assert demand["http://h/old"] == pytest.approx(math.exp(-9 / 4) / total)


def test_a_newcomer_has_the_visits_of_newcomers_by_those_seen_and_hidden() -> None:
    """Days 6 to 8 are the last third. Two pages come then, with 3 + 1 visits; of the pages of the pattern two
    have one visit and one has two, so 2^2 / (2 (1 + 1)) = 1 is hidden: 4 / 3 days / (2 + 1 + 1).
    """
    records = [(0, "/a", ""), (1, "/b", ""), (2, "/b", ""), *[(6, "/c", "")] * 3, (8, "/d", "")]
    counts = counted(records, 9)
    found = newcomer_demand(counts, counts.first_days(), np.zeros(4, np.int64), 1)
    assert found[0] == pytest.approx(4 / 3 / 4)


MANY = 1_000.0
"""Transits after which a page shows its target for sure."""


def gains(
    links: list[tuple[int, int, float]], demand: list[float], patterns: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    sources, targets, transits = (np.array(column) for column in zip(*links, strict=True))
    sizes = np.bincount(patterns).astype(float)
    return discovery_gain(
        sources.astype(np.int64), targets.astype(np.int64), transits.astype(float), np.array(demand),
        np.array(patterns), sizes,
    )  # fmt: skip


def test_a_second_hub_of_the_same_pages_is_worth_nothing() -> None:
    """Pages 0 and 1 are hubs of pages 2 and 3; 0 shows both, 1 only what 0 shows."""
    by_pattern, by_page = gains(
        [(0, 2, MANY), (0, 3, MANY), (1, 3, MANY)], [0.0, 0.0, 5.0, 4.0], [0, 1, 2, 2]
    )
    assert by_pattern == pytest.approx([9.0, 0.0, 0.0])
    assert by_page == pytest.approx([9.0, 0.0, 0.0, 0.0])


def test_pages_of_a_pattern_share_its_gain_and_keep_half_of_their_own() -> None:
    """Pages 0 and 1 of one pattern: only 0 leads to page 2. G = 8 (1 - e^-5), g = 8 and 0, M = 4."""
    by_pattern, by_page = gains([(0, 2, 10.0), (1, 0, 1e-9)], [0.0, 0.0, 8.0], [0, 0, 1])
    G, g = 8 * (1 - math.exp(-5)), 8 * (1 - math.exp(-10))
    assert by_pattern[0] == pytest.approx(math.sqrt(G * g / 2), rel=1e-6)
    assert by_page[0] == pytest.approx(math.sqrt(G * (g + g / 2) / 2), rel=1e-6)
    assert by_page[1] == pytest.approx(math.sqrt(G * g / 4), rel=1e-6)
