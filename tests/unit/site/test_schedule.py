"""When a site is learned: 200, 400, 800 and 1,600 pages, then on drift."""

from __future__ import annotations

import pytest

from linkscore_scoring.site.learning import LearningConfig, LearningSchedule, SiteBounds
from linkscore_scoring.site.model import SiteModel


def due_at(schedule: LearningSchedule, pages: int) -> list[int]:
    found = []
    for size in range(1, pages + 1):
        if schedule.is_due(size):
            found.append(size)
            schedule.started()
    return found


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (200, [200, 400, 800, 1_600]),
        (1_200, [1_200]),
        (8, [8, 16, 32, 64]),
    ],
)
def test_learning_is_due_at_doubling_sizes(sample: int, expected: list[int]) -> None:
    site = SiteModel("a.org", LearningConfig(sample_pages=sample), SiteBounds())
    assert due_at(site.schedule, 2_000) == expected


def test_afterwards_a_third_of_outliers_makes_it_due_again() -> None:
    schedule = LearningSchedule(0, 1_600)
    for n in range(300):
        schedule.classify(outlier=n % 10 < 4)
    assert schedule.is_due(2_000)
    schedule.started()
    assert not schedule.is_due(2_000)
