"""What pending links are expected to take, by hand."""

from __future__ import annotations

import pytest

from linkscore_scoring.policies.harvest.own_text import ExcerptLedger, PageWorth


def test_a_page_without_links_keeps_its_text() -> None:
    assert ExcerptLedger().reward(PageWorth(1_200, [])) == 0.75


def test_a_followed_link_that_took_text_makes_the_next_expected_to() -> None:
    """One link tested, 300 characters taken: 300 / (1 + 2) expected of each of 2 pending."""
    ledger = ExcerptLedger()
    ledger.followed(1, 5, 300)
    x = 1_000 - 2 * 300 / 3
    assert ledger.reward(PageWorth(1_000, [], {5: 2})) == pytest.approx(x / (x + 400))


def test_links_that_take_nothing_cost_nothing() -> None:
    ledger = ExcerptLedger()
    for _ in range(5):
        ledger.followed(1, 5, 0)
    assert ledger.reward(PageWorth(1_200, [], {5: 9})) == 0.75


def test_what_is_expected_never_makes_a_reward_negative() -> None:
    ledger = ExcerptLedger()
    ledger.followed(1, 5, 9_000)
    assert ledger.reward(PageWorth(100, [], {5: 9})) == 0.0


def test_text_around_links_between_texts_may_be_excerpts_until_they_were_tried() -> None:
    """In doubt is a share of 2 / (2 + tested + pages showing them): .9 at most, 2/5 after three tried."""
    ledger = ExcerptLedger()
    page = PageWorth(1_200, [], {}, [5])
    assert (ledger.doubt(page), ledger.reward(page)) == (0.9, 0.75)
    for _ in range(3):
        ledger.followed(1, 5, 0)
    assert ledger.doubt(page) == pytest.approx(2 / 5)
    assert ledger.reward(page) == 0.75


def test_a_page_without_links_between_texts_is_in_no_doubt() -> None:
    assert ExcerptLedger().doubt(PageWorth(1_200, [], {5: 3})) == 0.0


def test_what_other_pages_take_leaves_the_scale_of_the_site() -> None:
    """Lists of 6,400 characters lose all but 64: the scale falls from 400 to an eighth of 64."""
    ledger = ExcerptLedger()
    lists = [PageWorth(6_400, []) for _ in range(40)]
    for n, page in enumerate(lists):
        ledger.add(n, page)
    ledger.scale.look()
    assert ledger.scale.half_chars == 400.0
    for n, page in enumerate(lists):
        ledger.lost(page, 6_336)
        ledger.add(100 + n, PageWorth(64, []))
    ledger.scale.look()
    assert ledger.scale.half_chars == 8.0


def test_a_link_followed_is_pending_no_more() -> None:
    ledger = ExcerptLedger()
    page = PageWorth(500, [], {5: 1})
    ledger.add(1, page)
    ledger.followed(1, 5, 0)
    ledger.followed(1, 5, 0)
    assert page.pending == {5: 0}


def test_pages_with_text_and_links_between_are_counted_by_link_path() -> None:
    ledger = ExcerptLedger()
    ledger.add(1, PageWorth(400, [], {}, [5]))
    ledger.add(2, PageWorth(399, [], {}, [5]))
    assert ledger.looked_at(5)[1] == 1


def test_pages_and_link_paths_are_bounded() -> None:
    ledger = ExcerptLedger(max_pages=10, max_link_paths=10)
    for n in range(30):
        ledger.add(n, PageWorth(900, [], {}, [n]))
        ledger.followed(n, n, 1)
    assert len(ledger) == 10
    assert ledger.page(19) is None
    assert ledger.page(20) is not None
    assert len(ledger.to_state()["tested"]) == len(ledger.to_state()["pages_showing"]) == 10


def test_a_ledger_restored_expects_the_same() -> None:
    ledger, again = ExcerptLedger(), ExcerptLedger()
    ledger.add(1, PageWorth(900, [(1, 2)], {5: 2}, [6], 0.5, 1.0))
    ledger.followed(1, 5, 300)
    again.load_state(ledger.to_state())
    assert again.to_state() == ledger.to_state()
    assert again.page(1) == ledger.page(1)
