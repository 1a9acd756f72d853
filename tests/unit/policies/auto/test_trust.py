"""Who leads, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.learners.progressive_validation import ValidationWindow
from linkscore_scoring.policies.auto.trust import (
    CrawlTrust,
    Evidence,
    Trust,
    evidence_of,
    expected,
    handicaps,
)
from linkscore_scoring.types import PageObservation


def links_of(rows: list[tuple[float, int, list[float]]], *, discount: float = 1.0) -> ValidationWindow:
    """Return links of (reward, leader, scores)."""
    links = ValidationWindow(discount=discount)
    for key, (reward, leader, scores) in enumerate(rows):
        chars = round(400 * reward / (1 - reward))
        page = PageObservation(key, key, "", key, 1, 0, [], failed=False, refetch=False, own_chars=chars)
        links.record(page, scores, active=leader)
    return links


def test_evidence_is_what_each_policy_earned_as_leader_and_would_have_gained_by_its_order() -> None:
    """16 links, half of them worth .5: the second policy puts those first, the leader has no order."""
    rows = [(0.5 * (i % 2), int(i >= 8), [0.3, 0.5 * (i % 2)]) for i in range(16)]
    evidence = evidence_of(links_of(rows), 0, 2)
    assert evidence.own_weight.tolist() == [8.0, 8.0]
    assert evidence.earned.tolist() == [0.25, 0.25]
    assert evidence.level == 0.25
    # 64 of 120 pairs have .5 at stake, of which the leader gets half
    np.testing.assert_allclose(evidence.gains, [0.0, 64 / 120 * 0.5 * 0.5])


def test_what_few_links_say_of_an_order_is_not_heard() -> None:
    rows = [(0.5 * (i % 2), 0, [0.3, 0.5 * (i % 2)]) for i in range(15)]
    assert evidence_of(links_of(rows), 0, 2).gains.tolist() == [0.0, 0.0]


def test_expectation_is_level_plus_gain_and_then_what_was_earned() -> None:
    """Gain .2 counts half after 30 links, the prior .04 the other half; 8 own fetches weigh as much."""
    untried = Evidence(np.array([10.0, 0.0]), np.array([0.5, 0.0]), np.array([0.0, 0.2]), 0.5, 30.0)
    np.testing.assert_allclose(expected(untried, 0, np.array([0.0, 0.04])), [0.5, 0.62])
    tried = Evidence(np.array([10.0, 8.0]), np.array([0.5, 0.1]), np.array([0.0, 0.2]), 0.5, 30.0)
    np.testing.assert_allclose(expected(tried, 0, np.array([0.0, 0.04])), [0.5, 0.36])


def test_others_must_be_better_by_the_margin_unless_there_is_nothing_to_lose() -> None:
    evidence = Evidence(np.array([24.0, 0.0]), np.zeros(2), np.zeros(2), 0.0, 25.0)
    np.testing.assert_allclose(handicaps(evidence, np.array([0.5, 0.5]), 0.05), [0.0, -0.05])
    np.testing.assert_allclose(handicaps(evidence, np.array([0.0, 0.0]), 0.05), [0.0025, 0.01])
    np.testing.assert_allclose(handicaps(evidence, np.array([0.05, 0.05]), 0.05), [0.00125, 0.005 - 0.025])
    early = Evidence(np.array([24.0, 0.0]), np.zeros(2), np.zeros(2), 0.0, 24.0)
    np.testing.assert_allclose(handicaps(early, np.array([0.0, 0.0]), 0.05), [0.0, -0.05])


def test_the_first_policy_leads_while_all_look_alike() -> None:
    trust = Trust(2)
    trust.weigh(links_of([(0.5 * (i % 2), 0, [0.3, 0.3]) for i in range(40)]), [True, True], [0.0, 0.0])
    assert trust.active == 0
    assert trust.shares == pytest.approx([1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))])


def test_a_better_order_takes_over_and_is_dropped_when_it_earns_nothing() -> None:
    """It loses the lead as soon as 8 x its gain is spent: within 4 fetches here."""
    rows = [(0.5 * (i % 2), 0, [0.3, 0.5 * (i % 2)]) for i in range(40)]
    trust = Trust(2)
    trust.weigh(links_of(rows), [True, True], [0.0, 0.0])
    assert trust.active == 1
    rows += [(0.0, 1, [0.3, 0.5])] * 4
    trust.weigh(links_of(rows), [True, True], [0.0, 0.0])
    assert trust.active == 0


def test_a_policy_that_cannot_answer_never_leads() -> None:
    rows = [(0.5 * (i % 2), 0, [0.3, 0.5 * (i % 2)]) for i in range(40)]
    trust = Trust(2)
    trust.weigh(links_of(rows), [True, False], [0.0, 0.9])
    assert trust.active == 0
    assert trust.shares == [1.0, 0.0]


def test_a_new_site_follows_what_the_others_showed() -> None:
    trust = Trust(2)
    trust.weigh(ValidationWindow(), [True, True], [0.0, 0.2])
    assert trust.active == 1


def test_where_nothing_is_earned_all_are_tried_in_turn() -> None:
    trust = Trust(3)
    rows: list[tuple[float, int, list[float]]] = []
    for _ in range(75):
        rows.append((0.0, trust.active, [0.3, 0.3, 0.3]))
        trust.weigh(links_of(rows), [True] * 3, [0.0] * 3)
    leaders = [leader for _, leader, _ in rows]
    assert leaders[:26] == [0] * 25 + [1]
    assert [leaders.count(k) for k in range(3)] == [25, 25, 25]


def test_sites_count_by_their_links_and_not_for_themselves() -> None:
    """Two sites of 32 links that agree on .1: half of it; a site is told what the other says alone."""
    crawl = CrawlTrust(2)
    crawl.report(1, np.array([0.0, 0.3]), 500.0)
    crawl.report(1, np.array([0.0, 0.1]), 500.0)
    crawl.report(2, np.array([0.0, 0.1]), 32.0)
    assert crawl.prior(3) == pytest.approx([0.0, 0.05])
    assert crawl.prior(1) == pytest.approx([0.0, 0.1 / 3])
    assert CrawlTrust(2).prior(1) == [0.0, 0.0]


def test_sites_that_reported_first_are_forgotten() -> None:
    crawl = CrawlTrust(1, max_sites=1)
    crawl.report(1, np.array([0.5]), 32.0)
    crawl.report(2, np.array([0.3]), 32.0)
    assert crawl.prior(3) == pytest.approx([0.1])


def test_states_come_back_and_foreign_ones_are_refused() -> None:
    crawl, trust = CrawlTrust(2), Trust(2)
    crawl.report(1, np.array([0.0, 0.1]), 8.0)
    trust.weigh(ValidationWindow(), [True, True], [0.0, 0.2])
    for known, other in ((crawl, CrawlTrust(2)), (trust, Trust(2))):
        other.load_state(known.to_state())
        assert other.to_state() == known.to_state()
    for other in (CrawlTrust(3), Trust(3)):
        for state in (crawl.to_state(), trust.to_state(), {}):
            with pytest.raises(CorruptState):
                other.load_state(state)
