"""Dates of sitemaps: how much they say is measured, and they say nothing until they did."""

from __future__ import annotations

import pytest

from linkscore_research.revisits.histories import living
from linkscore_research.revisits.replay import Learned, Listed, replay
from linkscore_scoring.revisits.pages import DAY_S, Fetched, RevisitSettings
from linkscore_scoring.revisits.site import SiteRevisits
from linkscore_scoring.state import packed, unpacked

START = 1_000_000.0


def day(number: float) -> float:
    return START + number * DAY_S


def site() -> SiteRevisits:
    made = SiteRevisits(RevisitSettings(objective="freshness"))
    for number in range(0, 40, 2):
        made.listed([(1, int(day(number)) if number % 4 else 0), (2, int(day(-9)))], day(number) + 9)
        for key in (1, 2):
            unseen = 50 + number * 7 if key == 1 and number % 4 else 0
            made.fetched(Fetched(key, f"http://a.org/{key}", day(number) + 10, own=500, unseen=unseen))
    return made


def test_a_page_whose_date_moved_comes_first_and_asking_changes_nothing() -> None:
    made = site()
    made.listed([(1, int(day(-9))), (2, int(day(40)))], day(40) + 9)
    assert [due.key for due in made.rank(day(41), 2)] == [2, 1]
    made.listed([(1, int(day(40))), (2, int(day(-9)))], day(40) + 9)
    plain = packed(made.to_state())
    assert [due.key for due in made.rank(day(41), 2)] == [1, 2]
    assert packed(made.to_state()) == plain
    again = SiteRevisits(made.settings)
    again.load_state(unpacked(plain))
    assert again.rank(day(41), 2) == made.rank(day(41), 2)


@pytest.mark.long
def test_an_honest_sitemap_gains_and_one_that_lies_costs_little() -> None:
    history = living(101, pages=80, years=2.0)
    alone, honest, lying = (
        replay(history, schedule, 4.0).freshness
        for schedule in (
            Learned(),
            Listed(history, lies=False),
            Listed(history, lies=True),
        )
    )
    assert honest > alone + 0.03
    assert lying > alone - 0.02
