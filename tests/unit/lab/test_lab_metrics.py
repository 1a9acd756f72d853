"""The figures of a crawl, against numbers worked out by hand."""

from __future__ import annotations

import pytest

from linkscore_lab import metrics
from linkscore_lab.page_facts import PageFacts


def page(content: str, *blocks: tuple[bytes, int]) -> PageFacts:
    return PageFacts((), blocks, content)


PAGES = {
    "list": page("list", (b"menu", 30)),
    "t1": page("one", (b"menu", 30), (b"one", 100)),
    "t1-again": page("one", (b"menu", 30), (b"one", 100)),
    "t2": page("two", (b"two", 70)),
    "t3": page("three", (b"three", 200)),
}
WANTED = {"t1", "t1-again", "t2", "t3"}
ORDER = ["list", "t1", "t1-again", "t2"]


def test_valid_ratio_is_wanted_fetches_over_fetches() -> None:
    assert metrics.valid_ratio(ORDER, WANTED) == 3 / 4


def test_valid_ratio_distinct_counts_each_content_once() -> None:
    assert metrics.valid_ratio_distinct(ORDER, PAGES, WANTED) == 2 / 4


def test_a_copy_that_is_not_wanted_does_not_hide_the_wanted_original() -> None:
    assert metrics.valid_ratio_distinct(["t1-again", "t1"], PAGES, {"t1"}) == 1 / 2


def test_recall_is_the_share_of_wanted_pages_found() -> None:
    assert metrics.recall(ORDER, WANTED) == 3 / 4


def test_duplicates_are_fetches_of_content_that_came_before() -> None:
    assert metrics.duplicates(ORDER, PAGES) == 1


def test_a_page_nobody_surveyed_is_a_copy_of_nothing() -> None:
    assert metrics.duplicates(["error-1", "error-2", "t1"], PAGES) == 0


def test_text_share_counts_a_block_once() -> None:
    assert metrics.text_share(ORDER, PAGES) == (30 + 100 + 70) / (30 + 100 + 70 + 200)


def test_early_area_by_hand() -> None:
    # 60 pages: N = 3; good(1..3) = 0, 1, 2; 3 / (3 * 4 / 2)
    assert metrics.early_area(ORDER, WANTED, 60) == 3 / 6


def test_early_area_of_a_crawl_that_ends_early_keeps_its_last_value() -> None:
    # 80 pages: N = 4; good = 1, 2, then 2, 2; 7 / (4 * 5 / 2)
    assert metrics.early_area(["t1", "t2"], WANTED, 80) == 7 / 10


def test_early_pages_are_rounded_down() -> None:
    # 59 pages: N = 2; good = 0, 1; 1 / (2 * 3 / 2)
    assert metrics.early_area(ORDER, WANTED, 59) == 1 / 3


def test_harvest_curve_counts_up() -> None:
    assert metrics.harvest_curve(ORDER, WANTED) == [0, 1, 2, 3]


@pytest.mark.parametrize("wanted", [set(), WANTED])
def test_an_empty_crawl_has_figures_too(wanted: set[str]) -> None:
    assert metrics.figures([], PAGES, wanted) == metrics.Figures(0, 0.0, 0.0, 0.0, 0.0, 0, 0.0)
