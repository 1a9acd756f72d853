"""What is remembered of a URL: where it was seen, how deep, what it was."""

from __future__ import annotations

from linkscore_scoring.site.memory import NOT_FETCHED, LinkMemory

PATTERNS = dict.fromkeys(range(100), 7)


def test_a_link_is_remembered_with_source_link_path_depth_and_pattern() -> None:
    memory = LinkMemory()
    seen = memory.see(1, 2, [10, 11, 10], [5, 5, 6], PATTERNS)
    assert seen.fresh == [True, True, False]
    assert seen.first_here == [True, True, False]
    assert memory.contexts(10) == [(1, 5), (1, 6)]
    assert (memory.depth(10), memory.pattern(10), memory.cluster(10)) == (2, 7, NOT_FETCHED)


def test_the_latest_source_of_each_link_path_stays_and_the_older_is_displaced() -> None:
    memory = LinkMemory()
    memory.see(1, 1, [10], [5], PATTERNS)
    seen = memory.see(2, 1, [10], [5], PATTERNS)
    assert seen.displaced == [(1, 5)]
    assert memory.contexts(10) == [(2, 5)]


def test_beyond_the_bound_of_ways_the_oldest_goes() -> None:
    memory = LinkMemory(max_contexts=2)
    for link_path in (5, 6, 7):
        memory.see(link_path, 1, [10], [link_path], PATTERNS)
    assert memory.contexts(10) == [(6, 6), (7, 7)]


def test_the_urls_seen_first_are_forgotten_beyond_the_bound() -> None:
    memory = LinkMemory(max_links=10)
    memory.see(1, 1, list(range(15)), [5] * 15, PATTERNS)
    assert (len(memory), memory.evicted) == (10, 5)
    assert memory.contexts(4) == []
    assert memory.contexts(5) == [(1, 5)]
    assert memory.unknown([4, 5, 4]) == {4: 0}
