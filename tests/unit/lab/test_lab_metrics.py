"""The figures of a crawl, against numbers worked out by hand."""

from __future__ import annotations

import json
import re
from math import log2
from pathlib import Path

import pytest

from linkscore_lab import metrics
from linkscore_lab.datasets.survey import PageFacts
from linkscore_lab.metrics import Kinds


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
TYPES = {"list": "board", "t1": "thread", "t1-again": "thread_permalink", "t2": "thread", "t3": "thread"}
KINDS = {"board": "INDEX", "thread": "THREAD", "thread_permalink": "THREAD", "home": "ENTRY", "help": "OTHER"}


def test_valid_ratio_is_wanted_fetches_over_fetches() -> None:
    assert metrics.valid_ratio(ORDER, WANTED) == 3 / 4


def test_valid_ratio_distinct_counts_each_content_once() -> None:
    assert metrics.valid_ratio_distinct(ORDER, PAGES, WANTED) == 2 / 4


def test_a_copy_that_is_not_wanted_does_not_hide_the_wanted_original() -> None:
    assert metrics.valid_ratio_distinct(["t1-again", "t1"], PAGES, {"t1"}) == 1 / 2


def test_recall_is_the_share_of_wanted_pages_found() -> None:
    assert metrics.recall(ORDER, WANTED) == 3 / 4


def test_f_of_the_first_row_of_table_3_in_xu_2018() -> None:
    # SOUrCe: valid ratio .9989, recall .2767, F .4327 are means over sites; F of the means is 0.43336
    assert metrics.f_measure(0.9989, 0.2767) == pytest.approx(0.43336, abs=5e-6)


def test_f_of_a_half_and_a_quarter_is_a_third() -> None:
    assert metrics.f_measure(0.5, 0.25) == pytest.approx(1 / 3)
    assert metrics.f_measure(0.0, 0.0) == 0.0


def test_duplicates_are_fetches_of_content_that_came_before() -> None:
    assert metrics.duplicates(ORDER, PAGES) == 1
    assert metrics.distinct(ORDER, PAGES) == 3


def test_a_page_nobody_surveyed_is_a_copy_of_nothing() -> None:
    assert metrics.duplicates(["error-1", "error-2", "t1"], PAGES) == 0


def test_text_share_counts_a_block_once() -> None:
    assert metrics.text_share(ORDER, PAGES) == (30 + 100 + 70) / (30 + 100 + 70 + 200)


def test_early_area_by_hand() -> None:
    # 60 pages: N = 3; good(1..3) = 0, 1, 2; 3 / (3 * 4 / 2)
    assert metrics.area([0, 1, 2, 3], 60, 5) == 3 / 6


def test_early_area_of_a_crawl_that_ends_early_keeps_its_last_value() -> None:
    # 80 pages: N = 4; good = 1, 2, then 2, 2; 7 / (4 * 5 / 2)
    assert metrics.area([1, 2], 80, 5) == 7 / 10


def test_early_pages_are_rounded_down() -> None:
    # 59 pages: N = 2; good = 0, 1; 1 / (2 * 3 / 2)
    assert metrics.area([0, 1, 2, 3], 59, 5) == 1 / 3


@pytest.mark.parametrize(("percent", "expected"), [(1, 0.0), (25, 0.0), (50, 1 / 3), (100, 6 / 10)])
def test_the_area_may_span_any_share_of_the_site(percent: int, expected: float) -> None:
    # 4 pages: N = 0, 1, 2, 4; sums 0, 0, 1, 6; triangles 0, 1, 3, 10
    assert metrics.area([0, 1, 2, 3], 4, percent) == pytest.approx(expected)


def test_harvest_curve_counts_up() -> None:
    assert metrics.harvest_curve(ORDER, WANTED) == [0, 1, 2, 3]


def test_harvest_curve_holds_numbers_that_json_writes_as_numbers() -> None:
    assert json.dumps(metrics.harvest_curve(["t1", "list"], WANTED)) == "[1, 1]"


@pytest.mark.parametrize(("percent", "expected"), [(50, 3), (75, 4), (76, None), (80, None), (20, 2)])
def test_fetches_to_a_share_of_four_wanted_pages(percent: int, expected: int | None) -> None:
    # 50 % are 2 pages, 20 % need 1, 76 % need all 4
    assert metrics.fetches_to([0, 1, 2, 3], 4, percent) == expected


def test_nothing_wanted_is_never_reached() -> None:
    assert metrics.fetches_to([0, 0], 0, 50) is None


def test_entropy_in_bits() -> None:
    # 1 board, 1 permalink, 2 threads: 1/4 * 2 + 1/4 * 2 + 1/2 * 1
    assert metrics.entropy(ORDER, TYPES) == pytest.approx(1.5)
    assert metrics.entropy(["t1", "t2", "t3"], TYPES) == 0


def test_pages_without_label_are_one_type_more() -> None:
    assert metrics.entropy(["t1", "error-1", "error-2"], TYPES) == pytest.approx(
        1 / 3 * log2(3) + 2 / 3 * log2(3 / 2)
    )


def test_effectiveness_counts_permalinks_as_threads_and_path_share_index_pages_too() -> None:
    kinds = Kinds.of({**TYPES, "faq": "help", "/": "home"}, KINDS)
    assert metrics.effectiveness([*ORDER, "faq", "/"], kinds) == 3 / 6
    assert metrics.path_share([*ORDER, "faq", "/"], kinds) == 5 / 6


def test_coverage_leaves_permalinks_out() -> None:
    assert metrics.coverage(ORDER, PAGES, Kinds.of(TYPES, KINDS)) == 2 / 3


def test_which_types_coverage_leaves_out_can_be_said() -> None:
    assert metrics.coverage(ORDER, PAGES, Kinds.of(TYPES, KINDS, uncovered=[])) == 3 / 4
    assert metrics.coverage(ORDER, PAGES, Kinds.of(TYPES, KINDS, uncovered=["thread"])) == 1


def test_even_points_end_with_the_last_fetch() -> None:
    assert metrics.even_points(10, 4) == [2, 5, 7, 10]
    assert metrics.even_points(3, 100) == [1, 2, 3]
    assert metrics.even_points(0) == []


def test_composition_counts_types_at_even_points_most_frequent_first() -> None:
    assert metrics.composition(ORDER, TYPES, most=2) == {
        "thread": [1, 2],
        "board": [1, 1],
        "thread_permalink": [0, 1],
    }


def test_all_metrics_of_a_crawl_by_hand() -> None:
    # 5 pages, so N of the areas = 0, 0, 0, 1, 5; the curve 0, 1, 2, 3 keeps its 3: 9 / 15
    assert metrics.run_metrics(ORDER, PAGES, WANTED, TYPES, KINDS) == pytest.approx(
        {
            "fetched": 4,
            "valid_ratio": 0.75,
            "valid_ratio_distinct": 0.5,
            "harvest_rate": 0.75,
            "recall": 0.75,
            "f": 0.75,
            "entropy": 1.5,
            "effectiveness": 0.75,
            "path_share": 1.0,
            "coverage": 2 / 3,
            "area_1pct": 0.0,
            "area_5pct": 0.0,
            "area_10pct": 0.0,
            "area_25pct": 0.0,
            "area_100pct": 0.6,
            "fetches_to_50pct": 3,
            "fetches_to_80pct": None,
            "fetches_to_95pct": None,
            "text_share": 0.5,
            "duplicates": 1,
            "distinct": 3,
        }
    )


def test_every_metric_is_in_the_docs() -> None:
    page = (Path(__file__).parents[3] / "docs/reference/replay.md").read_text(encoding="utf-8")
    section = page.partition("\n## Metrics\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert [name for row in rows for name in re.findall("`([^`]+)`", row.split("|")[1])] == list(
        metrics.DEFINITIONS
    )


def test_every_metric_is_defined_and_in_the_same_order() -> None:
    assert list(metrics.run_metrics([], PAGES, WANTED, TYPES, KINDS)) == list(metrics.DEFINITIONS)


@pytest.mark.parametrize("kinds", [None, {"thread": "OTHER"}])
def test_figures_of_forums_mean_nothing_elsewhere(kinds: dict[str, str] | None) -> None:
    found = metrics.run_metrics(ORDER, PAGES, WANTED, TYPES, kinds)
    assert [found[name] for name in ("effectiveness", "path_share", "coverage")] == [None] * 3


def test_without_labels_nobody_knows_the_entropy() -> None:
    assert metrics.run_metrics(ORDER, PAGES, WANTED, {})["entropy"] is None


@pytest.mark.parametrize("wanted", [set(), WANTED])
def test_an_empty_crawl_has_figures_too(wanted: set[str]) -> None:
    found = metrics.run_metrics([], PAGES, wanted, TYPES, KINDS)
    assert {value for name, value in found.items() if "fetches_to" not in name} == {0}
    assert {value for name, value in found.items() if "fetches_to" in name} == {None}
