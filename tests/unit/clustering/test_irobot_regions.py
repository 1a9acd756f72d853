"""Repetitive regions worked by hand, and pages that share them."""

from __future__ import annotations

import pytest

from linkscore_scoring.clustering.base import OUTLIER
from linkscore_scoring.clustering.others.irobot_regions import NO_REGION, IRobotRegions, regions_of
from linkscore_scoring.clustering.sample import SamplePage
from linkscore_scoring.features.types import PathTrie

ROWS = [*["html/body/ul.list/li/a"] * 5, *["html/body/ul.list/li/text()"] * 4]


def sampled(*tries: PathTrie) -> list[SamplePage]:
    return [SamplePage(f"/{i}", trie) for i, trie in enumerate(tries)]


def test_a_region_is_its_place_and_the_share_of_leaves_it_covers(page) -> None:
    trie = page(*ROWS, "html/body/h1/text()", "html/body/p/text()", "html/body/hr/img")
    assert regions_of(trie) == {"html/body/ul.list": pytest.approx(9 / 12)}


def test_a_part_that_some_rows_lack_does_not_break_a_region(page) -> None:
    trie = page(
        *ROWS, "html/body/ul.list/li/img", "html/body/h1/text()", "html/body/p/text()", "html/body/img"
    )
    assert list(regions_of(trie)) == ["html/body/ul.list"]


def test_regions_that_cover_too_little_are_dropped(page) -> None:
    trie = page(*["html/body/ul/li/a"] * 3, *["html/body/div/p/text()"] * 7, "html/body/h1/text()")
    assert list(regions_of(trie)) == ["html/body/div"]
    assert set(regions_of(trie, min_share=0.2)) == {"html/body/div", "html/body/ul"}


def test_a_region_lies_deep_enough_and_repeats_often_enough(page) -> None:
    trie = page(*["html/body/p/text()"] * 2, *["html/body/a"] * 8)
    assert regions_of(trie) == {"html/body/a": pytest.approx(8 / 10)}
    assert regions_of(trie, min_depth=2) == {"html/body": 1.0}
    assert regions_of(trie, min_depth=4) == {NO_REGION: 1.0}
    assert regions_of(trie, min_repeats=9) == {NO_REGION: 1.0}


def test_an_empty_page_has_nothing() -> None:
    assert regions_of(PathTrie()) == {}


def test_numbers_in_classes_do_not_part_regions(page) -> None:
    trie = page(*["html/body/ul.list-7/li/a"] * 3, *["html/body/ul.list-8/li/a"] * 3)
    assert regions_of(trie) == {"html/body/ul.list-#": 1.0}


def test_pages_of_one_region_are_one_cluster_and_plain_pages_another(page) -> None:
    rows = [page(*ROWS, *["html/body/h1/text()"] * n) for n in (1, 2)]
    plain = [page("html/body/h1/text()", f"html/body/{tag}/text()") for tag in "pq"]
    table = page(*["html/body/table/tr/td/text()"] * 9)
    clustering = IRobotRegions().fit(sampled(*rows, *plain, table))
    assert clustering.labels.tolist() == [0, 0, 1, 1, OUTLIER]
    assert clustering.model.classify(sampled(rows[0], plain[1], table)).tolist() == [0, 1, OUTLIER]


def test_epsilon_parts_pages_of_two_regions_by_their_weights(page) -> None:
    """Weights (1, 0) and (.8, .6) after scaling: their distance is sqrt(.04 + .36) = .63."""
    one = page(*["html/body/ul/li/a"] * 8)
    two = page(*["html/body/ul/li/a"] * 8, *["html/body/div/p/text()"] * 6)
    sample = sampled(one, one, two, two)
    assert IRobotRegions().fit(sample).labels.tolist() == [0, 0, 1, 1]
    assert IRobotRegions(epsilon=0.64).fit(sample).labels.tolist() == [0] * 4
