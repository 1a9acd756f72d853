"""Worth per fetch of hubs, by hand."""

from __future__ import annotations

import pytest

from linkscore_scoring.policies.harvest.arms import SITE, HierarchicalArms, nodes_of
from linkscore_scoring.policies.harvest.hubs import HubLedger, HubPage, nodes_above
from linkscore_scoring.policies.harvest.tunables import Tunables
from linkscore_scoring.urls.pattern_tree import UrlPatterns

NO_PATTERNS = UrlPatterns()
GOOD, LIST, INDEX = (90, 9), (80, 8), (70, 7)


def known(rewards: dict[tuple[int, int], float], pulls: int = 50) -> HierarchicalArms:
    """Arms pulled so often that their means are their rewards, nearly."""
    arms = HierarchicalArms()
    for arm, reward in rewards.items():
        for _ in range(pulls):
            arms.credit(nodes_of(*arm), reward, 0.0)
    return arms


def test_without_fresh_links_the_index_is_the_reward() -> None:
    arms = known({GOOD: 1.0})
    ledger = HubLedger(arms)
    assert ledger.index(GOOD, NO_PATTERNS) == arms.reward(GOOD)


def test_a_hub_is_worth_its_links_and_itself_per_fetch() -> None:
    """Four nodes, each (y + 2 x parent) / 3 after one page: gain and links both shrink by s = 65/81."""
    arms = known({GOOD: 1.0, LIST: 0.0})
    ledger = HubLedger(arms)
    ledger.add(1, ledger.page([LIST], {GOOD: 10}, NO_PATTERNS), NO_PATTERNS)
    believed = arms.reward(GOOD) * 50 / 52
    shrunk = 10 * 65 / 81
    expected = (arms.reward(LIST) + shrunk * believed) / (1 + shrunk)
    assert ledger.index(LIST, NO_PATTERNS) == pytest.approx(expected)
    assert ledger.fresh_links(LIST, NO_PATTERNS) == pytest.approx(shrunk)


def test_a_hub_never_passes_the_pages_it_leads_to() -> None:
    ledger = HubLedger(known({GOOD: 0.9, LIST: 0.0}))
    for key in range(20):
        ledger.add(key, ledger.page([LIST], {GOOD: 500}, NO_PATTERNS), NO_PATTERNS)
    assert 0.8 < ledger.index(LIST, NO_PATTERNS) < ledger.index(GOOD, NO_PATTERNS)


def test_links_that_nobody_came_near_are_not_believed() -> None:
    ledger = HubLedger(known({LIST: 0.0}))
    ledger.add(1, ledger.page([LIST], {(55, 5): 100}, NO_PATTERNS), NO_PATTERNS)
    assert ledger.fresh_links(LIST, NO_PATTERNS) == 0.0


def test_links_at_the_place_of_good_ones_are_not_believed_if_none_of_their_kind_was_opened() -> None:
    ledger = HubLedger(known({LIST: 0.0, GOOD: 1.0}))
    ledger.add(1, ledger.page([LIST], {(55, GOOD[1]): 100}, NO_PATTERNS), NO_PATTERNS)
    assert ledger.fresh_links(LIST, NO_PATTERNS) == 0.0


def test_links_worth_less_than_the_hub_do_not_dilute_it() -> None:
    arms = known({GOOD: 1.0, LIST: 0.0, (60, 6): 0.02})
    ledger = HubLedger(arms)
    for key in range(10):
        ledger.add(key, ledger.page([LIST], {GOOD: 10, (60, 6): 500}, NO_PATTERNS), NO_PATTERNS)
    ledger.refresh(NO_PATTERNS)
    assert ledger.index(LIST, NO_PATTERNS) > 0.7


def test_a_page_that_leads_to_hubs_is_worth_something_after_a_refresh() -> None:
    ledger = HubLedger(known({GOOD: 1.0, LIST: 0.0, INDEX: 0.0}))
    for key in range(5):
        ledger.add(key, ledger.page([INDEX], {LIST: 10}, NO_PATTERNS), NO_PATTERNS)
    before = ledger.index(INDEX, NO_PATTERNS)
    for key in range(5, 10):
        ledger.add(key, ledger.page([LIST], {GOOD: 20}, NO_PATTERNS), NO_PATTERNS)
    ledger.refresh(NO_PATTERNS)
    ledger.refresh(NO_PATTERNS)
    assert ledger.index(INDEX, NO_PATTERNS) > before + 0.3


def test_a_hub_that_has_run_dry_fades_by_a_tenth_a_pull() -> None:
    """Ten links on one page, then none: 10 / (1 + 2), and .9 x 10 / (1.9 + 2) with two pseudo-pulls."""
    arms, elsewhere = known({GOOD: 1.0, LIST: 0.0}), (55, 5)
    ledger = HubLedger(arms)
    ledger.add(1, HubPage([SITE], [LIST], {GOOD: 10}), NO_PATTERNS)
    assert ledger.fresh_links(elsewhere, NO_PATTERNS) == pytest.approx(10 / 3)
    ledger.add(2, HubPage([SITE], [LIST]), NO_PATTERNS)
    assert ledger.fresh_links(elsewhere, NO_PATTERNS) == pytest.approx(0.9 * 10 / 3.9)
    gain = 0.9 * 10 * arms.reward(GOOD) * 50 / 52 / 3.9
    expected = (arms.reward(elsewhere) + gain) / (1 + 0.9 * 10 / 3.9)
    assert ledger.index(elsewhere, NO_PATTERNS) == pytest.approx(expected)


def test_yields_count_for_the_section_of_a_site_too() -> None:
    patterns = UrlPatterns()
    page = patterns.insert("http://a.org/questions/hot?start=20")
    section = patterns.levels("http://a.org/questions")[-1]
    assert (section, -1) in nodes_above((page, 3), patterns)
    assert nodes_above((page, 3), patterns)[-2:] == [(page, -1), (page, 3)]


def test_pages_and_arms_of_a_page_are_bounded() -> None:
    ledger = HubLedger(HierarchicalArms(), Tunables(hub_pages=5, at_once=64))
    page = ledger.page([LIST], {(n, n): n + 1 for n in range(200)}, NO_PATTERNS)
    for key in range(9):
        ledger.add(key, page, NO_PATTERNS)
    assert len(ledger) == 5
    assert sorted(page.fresh.values()) == list(range(137, 201)), "the 64 arms with most links"


def test_a_ledger_restored_is_worth_the_same() -> None:
    arms = known({GOOD: 1.0, LIST: 0.0})
    ledger, again = HubLedger(arms), HubLedger(arms)
    ledger.add(1, ledger.page([LIST], {GOOD: 10}, NO_PATTERNS), NO_PATTERNS)
    again.load_state(ledger.to_state())
    assert again.to_state() == ledger.to_state()
    assert again.index(LIST, NO_PATTERNS) == ledger.index(LIST, NO_PATTERNS)
