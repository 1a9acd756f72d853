"""Dates of sitemaps: how much they say is measured, and they say nothing until they did."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_research.revisits.histories import living
from linkscore_research.revisits.replay import Learned, Listed, replay
from linkscore_scoring.revisits.signals import Signals
from linkscore_scoring.revisits.site import SiteRevisits
from linkscore_scoring.revisits.values import DAY_S, Fetched, RevisitSettings
from linkscore_scoring.state import packed, unpacked

START = 1_000_000.0


def day(number: float) -> float:
    return START + number * DAY_S


def checked(*, lies: bool, fetches: int = 20) -> Signals:
    """Return what was measured of dates that follow changes, or every build."""
    signals = Signals()
    for number in range(fetches):
        changed = number % 10 < 3
        signals.learn(stale=0.3, moved=lies or changed, changed=changed)
    return signals


def test_a_date_that_says_nothing_has_the_factor_one_after_few_fetches() -> None:
    lying, honest = checked(lies=True), checked(lies=False)
    assert lying.odds(moved=True) == pytest.approx(1.0, abs=0.05)
    assert lying.gain() < 0.05
    assert honest.odds(moved=True) > 2.0
    assert honest.odds(moved=False) < 0.5


def test_what_is_measured_fades_when_a_listing_changes_its_ways() -> None:
    signals = checked(lies=False, fetches=500)
    before = signals.odds(moved=False)
    for number in range(500):
        signals.learn(stale=0.3, moved=False, changed=number % 10 < 3)
    assert signals.odds(moved=False) > 3.0 * before


def test_factors_are_one_without_knowledge_and_move_with_it() -> None:
    fresh, since = np.array([0.9, 0.5, 1.0]), np.array([0.99, 0.9, 1.0])
    moved = np.array([True, False, True])
    assert Signals().factors(fresh, since, moved) == pytest.approx(np.ones(3))
    up, down, same = checked(lies=False, fetches=100).factors(fresh, since, moved)
    assert up > 1.0 > down > 0.0
    assert same == 1.0


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


def test_dates_of_the_future_and_of_unknown_pages_say_nothing() -> None:
    made = site()
    assert made.listed([(2, int(day(900))), (77, int(day(41)))], day(41)) == 0.0
    assert not made.pages.row(made.pages.find(2)).flags


@pytest.mark.long
def test_an_honest_sitemap_gains_and_one_that_lies_costs_little() -> None:
    history = living(101, pages=150, years=3.0)
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
