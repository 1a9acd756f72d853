"""Decay of clicks against even clicks, by hand."""

from __future__ import annotations

from math import exp, log, tanh

import pytest
from clicks import counts_of

from linkscore_scoring.browse_logs.news.click_decay import decay_gain


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
