"""Revisits of one site: what fetches teach, what is due first, and that it is the same from its state."""

from __future__ import annotations

import pytest

from linkscore_scoring.revisits.pages import DAY_S, LEAST_CHARS, Fetched, RevisitSettings
from linkscore_scoring.revisits.site import SiteRevisits
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.types import FeedbackObservation

START = 1_000_000.0


def day(number: float) -> float:
    return START + number * DAY_S


def page(key: int, number: float, **said: int) -> Fetched:
    return Fetched(key, f"http://a.org/{key}", day(number), **{"own": 500, **said})


def lived(days: int = 40, **said: object) -> SiteRevisits:
    """Return a site of a list (1), a page that changes every day (2), one that never does (3)."""
    site = SiteRevisits(RevisitSettings(**said))  # type: ignore[arg-type]
    for key in (1, 2, 3):
        site.fetched(page(key, 0))
    for number in range(1, days):
        site.fetched(page(1, number, fresh_links=3))
        site.fetched(page(2, number, unseen=20 + 31 * number))
        site.unchanged(3, day(number))
    return site


def evidence(site: SiteRevisits, key: int) -> tuple[float, ...]:
    return site.pages.row(site.pages.find(key))[3:6]


def test_the_list_and_the_busy_page_come_first_and_say_why() -> None:
    due = lived().rank(day(42), 3)
    assert [(found.key, found.reason) for found in due] == [(1, "hub"), (2, "stale"), (3, "stale")]
    assert due[1].url == "http://a.org/2"
    assert due[1].last_s == day(39)
    assert due[1].rate > due[2].rate


def test_objectives_count_what_they_are_for() -> None:
    fresh = lived(objective="freshness").rank(day(42), 1)
    found = lived(objective="discovery").rank(day(42), 1)
    assert [due[0].reason for due in (fresh, found)] == ["stale", "hub"]
    assert found[0].key == 1


def test_a_page_is_not_due_before_the_least_interval_and_checked_at_the_longest() -> None:
    site = lived(least_s=3 * DAY_S, longest_s=30 * DAY_S)
    assert site.rank(day(41), 9) == []
    assert {found.reason for found in site.rank(day(70), 9)} == {"check"}


MARKS = pytest.mark.parametrize("mark", ["title", "structured"])


@MARKS
def test_another_mark_is_a_change_and_one_that_nobody_knew_is_none(mark: str) -> None:
    site, marks = lived(), (0, 5, 5, 6, 0, 6)
    found = [site.fetched(page(3, 41 + n, **{mark: number})).share for n, number in enumerate(marks)]
    assert found == [LEAST_CHARS / 500 * (n == 3) for n in range(6)]


@MARKS
def test_marks_that_change_at_most_fetches_say_nothing_until_they_rest(mark: str) -> None:
    site = lived()
    found = [site.fetched(page(3, 41 + n, **{mark: 1 + n})).share != 0.0 for n in range(40)]
    again = SiteRevisits(RevisitSettings())
    again.load_state(unpacked(packed(site.to_state())))
    assert sum(found) < 10
    assert not any(found[10:])
    for each in (site, again):
        for n in range(80):
            each.fetched(page(3, 90 + n, **{mark: 40}))
        assert each.fetched(page(3, 171, **{mark: 41})).share


def test_pages_found_together_are_due_one_after_another_and_once_there_were_rounds_anywhere_in_one() -> None:
    site = SiteRevisits(RevisitSettings(fetches_per_day=2.0))
    dates = sorted(site.fetched(page(key, 0)).next_s or 0.0 for key in range(1, 101))
    due = [sum(date <= day(n) for date in dates) for n in (10, 20, 30, 40)]
    assert all(0.6 * n <= count <= 1.7 * n for n, count in zip((20, 40, 60, 80), due, strict=True))
    for n, key in enumerate(list(range(1, 101)) * 2):
        site.unchanged(key, day(1 + n / 2))
    late = [(site.fetched(page(key, 101)).next_s or 0.0) - day(101) for key in range(201, 231)]
    assert min(late) < max(late) / 5


def test_a_failed_fetch_is_no_visit_and_is_tried_again_later_each_time() -> None:
    site, hour = lived(), DAY_S / 24
    before = evidence(site, 2)
    tried = day(41)
    for hours in (1, 2, 4):
        site.failed(2, tried)
        assert 2 not in [due.key for due in site.rank(tried + hours * hour - 1, 9)]
        found = next(due for due in site.rank(tried + hours * hour, 9) if due.key == 2)
        assert found.last_s == day(39)
        tried += hours * hour
    assert evidence(site, 2) == before


def test_importance_divides_fetches() -> None:
    site = lived(objective="freshness")
    site.feedback(FeedbackObservation(1, 2, "", 0, [], reward=0.0))
    assert site.rank(day(42), 3)[0].key != 2


@pytest.mark.parametrize("late", [0.0, -20.0, -100_000.0])
def test_fetches_at_one_time_or_out_of_order_teach_no_rate(late: float) -> None:
    site = SiteRevisits(RevisitSettings())
    site.fetched(page(1, 0))
    before = evidence(site, 1)
    for number in range(1, 30):
        found = site.fetched(page(1, late * number, unseen=20 + 31 * number))
        assert found.share
    assert evidence(site, 1) == before


@pytest.mark.parametrize("often", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("quiet", [0, 10, 300])
def test_what_a_hub_shows_is_believed_of_it_however_many_pages_show_nothing(often: float, quiet: int) -> None:
    site = SiteRevisits(RevisitSettings(objective="discovery"))
    for key in range(1, quiet + 2):
        site.fetched(page(key, 0))
    shown = 0
    for number in range(30, 1_500, 30):
        count = int(often * number)
        site.fetched(page(1, number, fresh_links=count - shown))
        shown = count
        for key in range(2 + number % 7, quiet + 2, 7):
            site.unchanged(key, day(number))
    [hub] = [found for found in site.rank(day(1_510), quiet + 1) if found.key == 1]
    rate = 2.0 * hub.worth / (1_510 - (hub.last_s - START) / DAY_S) ** 2
    assert rate / often == pytest.approx(1.0, abs=0.25)
    again = SiteRevisits(site.settings)
    again.load_state(unpacked(packed(site.to_state())))
    assert again.rank(day(1_510), quiet + 1) == site.rank(day(1_510), quiet + 1)


def test_new_pages_are_believed_to_change_as_new_ones_of_the_site_were_found() -> None:
    rates = []
    for is_edited in (True, False):
        site = SiteRevisits(RevisitSettings())
        for key in range(1, 21):
            site.fetched(page(key, 0))
            site.fetched(page(key, 1, unseen=50 + 7 * key if is_edited else 0))
        rates.append(site.fetched(page(99, 1)).rate)
    assert rates[0] > 2.0 * rates[1]


def test_dates_are_given_so_that_there_are_as_many_fetches_as_may_be() -> None:
    site = SiteRevisits(RevisitSettings(fetches_per_day=2.0, objective="freshness"))
    for key in range(1, 101):
        site.fetched(page(key, 0))
    dates = {}
    for number in range(1, 40):
        for key in range(1, 101):
            found = site.fetched(page(key, number, unseen=(20 + 31 * number) * (key % 4 == 0)))
            dates[key] = (found.next_s or 0.0) - day(number)
    assert sum(DAY_S / wait for wait in dates.values()) == pytest.approx(2.0, rel=0.05)
