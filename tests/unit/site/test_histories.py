"""Histories in bins: totals exact, halves to the bin, in any order of arrival."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.site.crawl_history import MAX_BINS, History, Tally, merged


def history_of(*texts: float, start: int = 1, step: int = 1) -> History:
    history = History()
    for i, text in enumerate(texts):
        history.add(start + i * step, Tally(fetched=1, text=text).values())
    return history


def test_halves_of_sixteen_fetches_are_exact() -> None:
    early, late = history_of(*[1.0] * 8, *[0.0] * 8).halves()
    assert (early.fetched, early.text, late.fetched, late.text) == (8, 8, 8, 0)


def test_the_last_quarter() -> None:
    history = history_of(*[0.0] * 12, *[1.0] * 4)
    assert (history.latest(0.25).fetched, history.latest(0.25).text) == (4, 4)
    assert history.latest(1.0) == history.total()
    assert history.latest(0.25, at_least=8).fetched == 8
    assert history_of(1.0).latest(0.25).fetched == 1
    assert History().latest(0.25, at_least=10) == Tally()


def test_late_feedback_is_counted_at_its_fetch() -> None:
    history = history_of(*[0.0] * 4, step=10)
    history.amend(11, Tally(reported=1, reward=0.75).values())
    early, late = history.halves()
    assert (early.reported, early.reward, late.reported) == (1, 0.75, 0)
    assert early.worth(by_reward=True) == 0.75


def test_use_is_worth_and_what_links_promise() -> None:
    tally = Tally(fetched=4, text=1.0, hub=2.0, reported=2, reward=1.5)
    assert tally.use(by_reward=False) == pytest.approx(0.25 + 0.5)
    assert tally.use(by_reward=True) == pytest.approx(0.75 + 0.5)


def test_groups_fetched_in_turn_join_in_order_of_time() -> None:
    first, second = history_of(1.0, 1.0, 0.0, 0.0, step=2), history_of(1.0, 1.0, 0.0, 0.0, start=2, step=2)
    early, late = merged([second, first]).halves()
    assert (early.text, late.text) == (4, 0)


def test_the_latest_three_urls_are_kept() -> None:
    history = History()
    for n in range(5):
        history.saw(f"u{n}")
    assert history.examples == ["u2", "u3", "u4"]


@given(st.lists(st.floats(0, 1), max_size=200))
def test_totals_are_exact_and_bins_few(texts: list[float]) -> None:
    history = history_of(*texts)
    assert len(history.bins) <= MAX_BINS
    total, (early, late) = history.total(), history.halves()
    assert total.fetched == len(texts)
    assert total.text == pytest.approx(sum(texts))
    assert early.fetched + late.fetched == len(texts)
    widest = max((counts[1] for counts in history.bins), default=0)
    assert abs(early.fetched - late.fetched) <= widest
