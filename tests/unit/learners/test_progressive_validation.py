"""Links scored before their page was known."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.learners.progressive_validation import (
    NO_ANSWER,
    ValidationWindow,
    log_odds_offset,
    shift_log_odds,
)
from linkscore_scoring.types import PageObservation


def page(key: int, own_chars: int, **more: object) -> PageObservation:
    given = {"failed": False, "refetch": False, **more}
    return PageObservation(key, key, "", key, 1, 0, [], own_chars=own_chars, **given)  # type: ignore[arg-type]


def judged(*pages: tuple[int, list[float]]) -> ValidationWindow:
    links = ValidationWindow()
    for key, (chars, scores) in enumerate(pages):
        links.record(page(key, chars), scores)
    return links


def test_reward_is_own_text_and_a_failed_fetch_earns_nothing() -> None:
    links = judged((400, [0.5]), (1_200, [0.5]))
    links.record(page(7, 400, failed=True), [0.5])
    assert links.rewards().tolist() == [0.5, 0.75, 0.0]


def test_text_that_a_later_page_takes_over_is_lost() -> None:
    links = judged((1_200, [0.5]))
    links.update(page(9, 0, lost={0: 800, 5: 100}))
    assert links.rewards().tolist() == [0.5]


def test_feedback_replaces_the_reward_for_good() -> None:
    links = judged((1_200, [0.5]))
    links.label(0, 0.1)
    links.label(5, 1.0)
    links.update(page(9, 0, lost={0: 800}))
    assert links.rewards().tolist() == [0.1]
    assert links.labelled().tolist() == [True]


def test_old_links_and_those_without_label_weigh_less() -> None:
    links = ValidationWindow(discount=0.5)
    for key in range(3):
        links.record(page(key, 400), [0.5])
    links.label(1, 1.0)
    np.testing.assert_allclose(links.weights(), [0.25 * 8 / 9, 0.5, 8 / 9])


def test_the_oldest_links_are_dropped_and_all_are_counted() -> None:
    links = ValidationWindow(max_links=2)
    for key in range(5):
        links.record(page(key, 400 * key), [key / 10])
    assert links.scores().tolist() == [[0.3], [0.4]]
    assert (len(links), links.recorded) == (2, 5)


def test_quality_is_asked_of_the_links_a_policy_answered_for() -> None:
    links = judged((1_200, [0.9, NO_ANSWER]), (400, [0.1, 0.1]), (0, [0.2, 0.0]))
    first, second = links.qualities()
    # weights .98^2, .98, 1; stakes .25, .75 and .5, of which the last pair is out of order
    stakes = np.array([0.98**3 * 0.25, 0.98**2 * 0.75, 0.98 * 0.5])
    assert first == pytest.approx(stakes[:2].sum() / stakes.sum())
    assert second == 1.0


def test_policies_can_be_dropped_added_and_moved() -> None:
    links = judged((400, [0.1, 0.2]))
    links.choose([1, -1])
    assert links.scores().tolist() == [[0.2, NO_ANSWER]]


def test_state_of_another_number_of_policies_is_refused() -> None:
    state = judged((400, [0.1, 0.2])).to_state()
    same = ValidationWindow()
    same.load_state(state, 2)
    assert same.to_state() == state
    with pytest.raises(CorruptState, match="3 policies"):
        ValidationWindow().load_state(state, 3)
    with pytest.raises(CorruptState, match="judged"):
        ValidationWindow().load_state({}, 2)


def test_even_odds_moved_by_ln_3_are_three_to_one() -> None:
    np.testing.assert_allclose(
        shift_log_odds(np.array([0.0, 0.25, 0.5, 1.0]), np.log(3)), [0.0, 0.5, 0.75, 1.0]
    )


def test_the_mean_difference_is_weighted() -> None:
    """From even odds to 3:1 in a link of weight 2 and to 1:3 in one of weight 1: ln 3 / 3."""
    scores, other, weights = np.array([0.5, 0.5]), np.array([0.75, 0.25]), np.array([2.0, 1.0])
    assert log_odds_offset(scores, other, weights) == pytest.approx(np.log(3) / 3)
    assert log_odds_offset(scores[:0], other[:0], weights[:0]) == 0.0


def test_sure_scores_count_as_99_percent() -> None:
    assert log_odds_offset(np.array([0.5]), np.array([1.0]), np.ones(1)) == pytest.approx(np.log(99))
