"""Votes for what links lead to: shrunk along the way, decided by majority, never frozen."""

from __future__ import annotations

import pytest

from linkscore_scoring.policies.focus.paths import ANY, UNDECIDED, KindVotes
from linkscore_scoring.types import INDEX, OTHER, THREAD
from linkscore_scoring.urls.pattern_tree import UrlPatterns

INDEX_PAGE, THREAD_PAGE = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
PLACE = 7


@pytest.fixture
def votes() -> KindVotes:
    return KindVotes(UrlPatterns())


@pytest.fixture
def topic(votes: KindVotes) -> int:
    return votes.patterns.insert("http://h/topic/1")


def cast(votes: KindVotes, pattern: int, *pages: tuple[float, float, float], copy: float = 0.0) -> None:
    for page in pages:
        votes.cast(pattern, [PLACE], page, copy=copy)


def test_a_wrong_page_is_outvoted_and_a_majority_turns_a_decision(votes: KindVotes, topic: int) -> None:
    cast(votes, topic, INDEX_PAGE, INDEX_PAGE)
    assert votes.estimate(topic, ANY).kind == INDEX
    cast(votes, topic, *[THREAD_PAGE] * 6)
    assert votes.estimate(topic, ANY).kind == THREAD


def test_a_pattern_nobody_opened_is_taken_for_what_stands_beside_it(votes: KindVotes, topic: int) -> None:
    new = votes.patterns.insert("http://h/other/1")
    cast(votes, topic, *[THREAD_PAGE] * 8)
    assert votes.estimate(new, PLACE).kind == THREAD
    assert votes.estimate(new, ANY).kind == UNDECIDED


def test_page_links_count_as_votes_for_the_kind_of_page_they_stand_on(votes: KindVotes) -> None:
    pages = votes.patterns.insert("http://h/list?page=2")
    for _ in range(2):
        votes.count_page_links(pages, INDEX, 1.0)
    estimate = votes.estimate(pages, ANY)
    assert votes.turns_pages(pages)
    assert estimate.support == 1.5
    assert estimate.prob == pytest.approx((1 / 3 + 1.5) / 2.5)


def test_copies_are_off_the_way_unless_they_turn_pages(votes: KindVotes, topic: int) -> None:
    cast(votes, topic, *[THREAD_PAGE] * 3, copy=1.0)
    assert votes.estimate(topic, ANY).kind == OTHER
    votes.count_page_links(topic, THREAD, 1.0)
    votes.count_page_links(topic, THREAD, 1.0)
    assert votes.estimate(topic, ANY).kind == THREAD


def test_votes_move_on_when_patterns_are_generalised(votes: KindVotes) -> None:
    for name in "abcdefghijkl":
        cast(votes, votes.patterns.insert(f"http://h/tag/{name}"), INDEX_PAGE)
    votes.merge_patterns()
    tag = votes.patterns.finest("http://h/tag/never-seen")
    assert votes.pages(tag) == 12.0
    assert votes.estimate(tag, ANY).kind == INDEX
