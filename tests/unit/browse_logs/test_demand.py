"""Visits a day to expect, of pages of the log and of others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from browse_logs import counted

from linkscore_scoring.browse_logs.behavior.demand import first_days, newcomers, own_demand


def test_recent_days_count_more_and_steady_pages_have_their_rate() -> None:
    counts = counted(
        [*((day, "/steady", "") for day in range(10)), *[(9, "/new", "")] * 4, (0, "/old", "")], 10
    )
    demand = dict(zip(counts.urls, own_demand(counts, 4.0).tolist(), strict=True))
    total = sum(math.exp(-day / 4) for day in range(10))
    assert demand["http://h/steady"] == pytest.approx(1.0)
    assert demand["http://h/new"] == pytest.approx(4 / total)
    assert demand["http://h/old"] == pytest.approx(math.exp(-9 / 4) / total)


def test_pages_that_only_refer_have_no_first_day_and_no_demand() -> None:
    counts = counted([(3, "/a", "/b"), (1, "/a", "")], 5)
    assert first_days(counts).tolist() == [1, -1]
    assert own_demand(counts)[1] == 0.0


def test_a_newcomer_has_the_visits_of_newcomers_by_those_seen_and_hidden() -> None:
    """Days 6 to 8 are the last third. Two pages come then, with 3 + 1 visits; of the pages of the pattern two
    have one visit and one has two, so 2^2 / (2 (1 + 1)) = 1 is hidden: 4 / 3 days / (2 + 1 + 1).
    """
    records = [(0, "/a", ""), (1, "/b", ""), (2, "/b", ""), *[(6, "/c", "")] * 3, (8, "/d", "")]
    counts = counted(records, 9)
    found = newcomers(counts, first_days(counts), np.zeros(4, np.int64), 1, np.zeros(4, bool))
    assert (found.pages[0], found.hidden[0], found.visits[0], found.days) == (2, 1, 4, 3)
    assert found.demand()[0] == pytest.approx(4 / 3 / 4)


def test_pages_whose_number_tells_their_birth_are_no_newcomers() -> None:
    counts = counted([(0, "/a", ""), (8, "/b", ""), (8, "/c", "")], 9)
    left_out = np.array([False, True, False])
    assert newcomers(counts, first_days(counts), np.zeros(3, np.int64), 1, left_out).pages[0] == 1
