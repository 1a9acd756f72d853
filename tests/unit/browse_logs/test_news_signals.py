"""What tells news, by hand: ClickThroughConcentration, and decay of clicks against even clicks."""

from __future__ import annotations

from math import exp, log, tanh

import pytest

from linkscore_scoring.browse_logs.news.signals import LITERAL, CtcSettings, concentration, decay_gain
from support.browse_logs.clicks import counts_of

EVEN = dict.fromkeys(range(10), 2)
EARLY = {2: 6, 3: 3, 9: 1}


def test_even_clicks_have_a_concentration_of_exactly_one() -> None:
    found = concentration(counts_of({"http://a.test/": EVEN}), CtcSettings())
    assert found.values.tolist() == [pytest.approx(1.0)]


def test_the_formula_as_printed_misses_one_by_a_day() -> None:
    found = concentration(counts_of({"http://a.test/": EVEN}), CtcSettings(mode=LITERAL))
    assert found.values[0] == pytest.approx((8 / 20) / (3 / 9))


def test_early_clicks_by_hand() -> None:
    counts = counts_of({"http://a.test/": EARLY})
    # First click on the third day of ten: 9 of 10 clicks in 3 of the 8 days there are.
    assert concentration(counts, CtcSettings()).values[0] == pytest.approx(0.9 / (3 / 8))
    # As printed: days a to a + m (9 of 10), m / (n - a) = 3 / 7.
    assert concentration(counts, CtcSettings(mode=LITERAL)).values[0] == pytest.approx(0.9 / (3 / 7))
    assert concentration(counts, CtcSettings(m=1)).values[0] == pytest.approx(0.6 / (1 / 8))


def test_pages_below_one_click_a_day_are_not_looked_at() -> None:
    counts = counts_of({"http://a.test/few": {0: 9}, "http://a.test/enough": {0: 10}})
    assert concentration(counts, CtcSettings()).frequent.tolist() == [False, True]


def test_the_mean_over_the_own_life_takes_in_late_pages() -> None:
    counts = counts_of({"http://a.test/late": {7: 2, 9: 1}})
    assert not concentration(counts, CtcSettings()).frequent[0]
    assert concentration(counts, CtcSettings(over_life=True)).frequent[0]


def test_a_short_life_is_undecided() -> None:
    counts = counts_of({"http://a.test/3": {3: 10}, "http://a.test/4": {4: 10}})
    assert concentration(counts, CtcSettings()).decided.tolist() == [True, False]
    assert concentration(counts, CtcSettings(m=4)).decided.tolist() == [False, False]


def test_pages_of_the_first_day_may_be_left_undecided() -> None:
    counts = counts_of({"http://a.test/old": EVEN, "http://a.test/new": {1: 10}})
    assert concentration(counts, CtcSettings(skip_first_day=True)).decided.tolist() == [False, True]


def test_a_page_that_only_referred_has_no_concentration() -> None:
    counts = counts_of({"http://a.test/b": EVEN}, transits=[("http://a.test/a", "http://a.test/b", 20)])
    found = concentration(counts, CtcSettings())
    row = counts.urls.index("http://a.test/a")
    assert (found.values[row], found.frequent[row], found.first_days[row]) == (0.0, False, 10)


def test_a_first_click_on_the_last_day_divides_by_nothing() -> None:
    counts = counts_of({"http://a.test/": {9: 50}})
    for mode in ("consistent", LITERAL):
        found = concentration(counts, CtcSettings(mode=mode))
        assert not found.decided[0]
        assert found.values[0] in (0.0, pytest.approx(1 / 3))


def test_two_days_by_hand() -> None:
    # Seen for two days, 3 clicks on the first, 1 on the second; decay of one day: 1 : 1/e.
    mass = 1 + exp(-1)
    mean = (3 * log(1 / mass) + log(exp(-1) / mass)) / 4 - log(1 / 2)
    gain = decay_gain(counts_of({"http://a.test/": {0: 3, 1: 1}}, n_days=2), days=1.0)
    assert gain[0] == pytest.approx(tanh(mean))


def test_even_clicks_speak_against_decay_and_early_ones_for_it() -> None:
    even = dict.fromkeys(range(20), 1)
    gain = decay_gain(
        counts_of({"http://a.test/even": even, "http://a.test/early": {0: 15, 1: 5}}, n_days=20)
    )
    assert gain[0] < 0 < gain[1]


def test_a_page_of_one_day_says_nothing() -> None:
    assert decay_gain(counts_of({"http://a.test/": {9: 40}}))[0] == pytest.approx(0.0)


def test_a_page_without_clicks_says_nothing() -> None:
    counts = counts_of({"http://a.test/b": {0: 2}}, transits=[("http://a.test/a", "http://a.test/b", 2)])
    assert decay_gain(counts)[counts.urls.index("http://a.test/a")] == 0.0
