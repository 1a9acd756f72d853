"""A sitemap of eight pages: entry, two boards, four threads, help."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.policies.irobot.sitemap import (
    KeptArc,
    MapEntry,
    Place,
    Sitemap,
    informativeness,
    most_informative,
)

ENTRY, BOARD, THREAD, HELP = (0, 0), (1, 1), (2, 2), (9, 9)
TO_BOARD, TO_THREAD, TO_HELP, NEXT = (1, 10), (2, 20), (9, 90), (1, 11)
Shown = list[tuple[Place, int]]


def site() -> Sitemap:
    boards: list[Shown] = [
        [(TO_THREAD, 4), (TO_THREAD, 5), (TO_THREAD, 50), (NEXT, 3)],
        [(TO_THREAD, 6), (TO_THREAD, 7), (NEXT, 2)],
    ]
    return Sitemap(
        [
            MapEntry(1, ENTRY, 0, True, [(TO_BOARD, 2), (TO_BOARD, 3), (TO_HELP, 8)]),
            MapEntry(2, BOARD, 0, True, boards[0]),
            MapEntry(3, BOARD, 0, True, boards[1]),
            *(MapEntry(key, THREAD, 500, True, [(TO_HELP, 8), (TO_THREAD, 4)]) for key in (4, 5, 6, 7)),
            MapEntry(8, HELP, 0, True, []),
        ]
    )


def test_arcs_weigh_the_distinct_targets_of_a_place_fetched_or_not() -> None:
    """Kinds by size after the entry: 0 entry, 1 threads, 2 boards, 3 help."""
    sitemap = site()
    assert sitemap.vertices == [ENTRY, THREAD, BOARD, HELP]
    assert sitemap.arcs() == {
        (0, 2): (2, TO_BOARD),
        (0, 3): (1, TO_HELP),
        (2, 1): (5, TO_THREAD),
        (1, 3): (1, TO_HELP),
    }


def test_the_tree_to_the_informative_kinds_is_kept_and_page_flipping() -> None:
    """Threads are half of the pages and the most informative kind: worth 1, halved a click before."""
    kept = site().kept(coverage=0.5, flip_shares={NEXT: 1.0}, flip_share=0.5)
    assert kept == [
        KeptArc(1, TO_THREAD, THREAD, 1.0, flip=False),
        KeptArc(0, TO_BOARD, BOARD, 0.5, flip=False),
        KeptArc(1, NEXT, BOARD, 0.5, flip=True),
    ]


def test_links_between_pages_of_a_kind_need_anchors_that_flip() -> None:
    kept = site().kept(coverage=0.5, flip_shares={NEXT: 0.4, TO_THREAD: 0.0}, flip_share=0.5)
    assert not any(arc.flip for arc in kept)


def test_all_kinds_are_kept_if_all_pages_must_be_covered() -> None:
    """Help hangs below the entry: both arcs into it weigh 1, the entry has the smaller number."""
    kept = site().kept(coverage=1.0, flip_shares={}, flip_share=0.5)
    assert {(arc.source, arc.target) for arc in kept} == {(1, THREAD), (0, BOARD), (0, HELP)}


def test_an_empty_sample_has_an_empty_map() -> None:
    assert Sitemap([]).kept(coverage=0.9, flip_shares={}, flip_share=0.5) == []


def test_informativeness_adds_three_standard_scores() -> None:
    """Two kinds: ln sizes 0 and ln 9, so z = -1 and 1; texts alike, 0; unique .5 and 1, z = -1 and 1."""
    assert informativeness([1, 9], [7.0, 7.0], [0.5, 1.0]) == pytest.approx([-2.0, 2.0])
    assert informativeness([3, 3], [0.0, np.e**2 - 1], [1.0, 1.0]) == pytest.approx([-1.0, 1.0])


def test_kinds_are_taken_until_the_share_of_pages_is_covered() -> None:
    info = np.array([0.0, 3.0, 2.0])
    assert most_informative(info, [4, 3, 3], 0.3) == {1}
    assert most_informative(info, [4, 3, 3], 0.31) == {1, 2}
    assert most_informative(info, [4, 3, 3], 1.0) == {0, 1, 2}
