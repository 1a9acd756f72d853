"""The table a replay leaves: figures of a crawl, its file, means and intervals, the report."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from lxml import html
from rich.console import Console

from linkscore_lab import metrics
from linkscore_lab.datasets.site import PageFacts
from linkscore_lab.replay.results import (
    Input,
    Meta,
    Results,
    RunResult,
    order_digest,
    print_summary,
    read_results,
    write_results,
)
from linkscore_lab.report import write_report
from linkscore_scoring.errors import InvalidInput

META = Meta("2026-01-02T03:04:05Z", {"s": Input("ab" * 32, 3)}, "1.2.3")


def run(seed: int = 1, valid_ratio: float | None = 0.5, **other: Any) -> RunResult:
    fields: dict[str, Any] = {
        "site": "s",
        "task": "user_content",
        "mode": "none",
        "policy": "harvest",
        "start": "https://s.test/",
        "budget": 4,
        "fetched": 2,
        "seconds": 1.0,
        "metrics": {"valid_ratio": valid_ratio},
        "curve": [0, 1],
        "n_reachable": 10,
        "n_wanted": 3,
        "order_digest": f"order {seed} {valid_ratio}",
    }
    return RunResult(**{**fields, "seed": seed, **other})


# Figures of one crawl.


def page(content: str, *blocks: tuple[int, int]) -> PageFacts:
    return PageFacts(blocks, content)


PAGES = {
    "list": page("list", (1, 30)),
    "t1": page("one", (1, 30), (2, 100)),
    "t1-again": page("one", (1, 30), (2, 100)),
    "t2": page("two", (3, 70)),
    "t3": page("three", (4, 200)),
}
WANTED = {"t1", "t1-again", "t2", "t3"}
ORDER = ["list", "t1", "t1-again", "t2"]
TYPES = {"list": "board", "t1": "thread", "t1-again": "thread_permalink", "t2": "thread", "t3": "thread"}


def test_all_metrics_of_a_crawl_by_hand() -> None:
    # 5 pages, so N of the areas = 0, 0, 0, 1, 5; the curve 0, 1, 2, 3 keeps its 3: 9 / 15
    # entropy: 1 board, 1 permalink, 2 threads: 1/4 * 2 + 1/4 * 2 + 1/2 * 1
    found = metrics.run_metrics(ORDER, PAGES, WANTED, TYPES)
    assert list(found) == list(metrics.DEFINITIONS)
    assert found == pytest.approx(
        {
            "fetched": 4,
            "valid_ratio": 0.75,
            "valid_ratio_distinct": 0.5,
            "recall": 0.75,
            "f": 0.75,
            "entropy": 1.5,
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


def test_figures_that_mean_nothing_are_none() -> None:
    found = metrics.run_metrics(ORDER, PAGES, WANTED, {})
    assert found["entropy"] is None
    empty = metrics.run_metrics([], PAGES, set(), TYPES)
    assert {value for name, value in empty.items() if "fetches_to" not in name} == {0}
    assert {value for name, value in empty.items() if "fetches_to" in name} == {None}


@pytest.mark.parametrize(
    ("curve", "n_pages", "percent", "expected"),
    [
        ([0, 1, 2, 3], 60, 5, 3 / 6),  # N = 3; good = 0, 1, 2; 3 / (3 * 4 / 2)
        ([1, 2], 80, 5, 7 / 10),  # N = 4; a crawl that ended early keeps its 2
        ([0, 1, 2, 3], 59, 5, 1 / 3),  # N = 2: rounded down
        ([0, 1, 2, 3], 4, 1, 0.0),
    ],
)
def test_area_under_the_curve_by_hand(curve: list[int], n_pages: int, percent: int, expected: float) -> None:
    assert metrics.area(curve, n_pages, percent) == expected


# The file.


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "r.json"
    full = run(
        start="https://s.test/?q=ä\udcff",
        metrics={"valid_ratio": 2 / 3, "coverage": None},
        order_digest=order_digest(["a", "b"]),
    )
    write_results(path, [full, replace(full, seed=4)], META)
    assert read_results(path) == Results(META, [full, replace(full, seed=4)])
    assert [each.name for each in path.parent.iterdir()] == ["r.json"]


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"meta":{"created":"x"},"runs":[{}]}', "[" * 100_000])
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(InvalidInput, match="must be a file of `linkscore replay --json`"):
        read_results(tmp_path / "x.json")
    with pytest.raises(InvalidInput, match=r"none.json: cannot be read: No such file"):
        read_results(tmp_path / "none.json")


# Means and intervals.


def printed(*runs: RunResult) -> str:
    console = Console(file=StringIO(), width=100)
    print_summary(console, runs)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_the_table_has_means_with_students_interval_best_first() -> None:
    # mean .4, s = .2, t(2 degrees, .975) = 4.302653: 4.302653 * .2 / sqrt(3) = .497
    text = printed(
        run(1, 0.2), run(2, 0.4), run(3, 0.6), run(1, 0.9, policy="harvest:rate=[red]"), run(4, None)
    )
    assert "s: user_content" in text
    assert "0.400 ±0.497" in text
    assert text.index("harvest:rate=[red]") < text.index("0.400")
    assert "recall" not in text


def test_runs_that_repeat_each_other_are_one_observation() -> None:
    same = [run(seed, order_digest="same") for seed in (1, 2)]
    assert "0.500  " in printed(*same), "no interval"
    assert "±" in printed(*same, run(3, 0.7))
    assert "±" in printed(same[0], replace(same[1], start="x"))


# The report.

EVIL = '<img src="https://evil.test/x.png" onerror=alert(1)>'


def test_the_report_shows_figures_and_curves_and_loads_nothing(tmp_path: Path) -> None:
    good = {"fetched": 4, "curve": [1, 2, 3, 3]}
    runs = [
        run(policy="breadth_first", fetched=4, curve=[0, 1, 1, 2]),
        run(1, 0.75, **good),
        run(2, 0.7, **{**good, "curve": [1, 1, 2, 3]}),
        run(site="u", fetched=0, curve=[], budget=0, metrics={}),
    ]
    write_report(tmp_path / "new" / "r.html", runs, META)
    page = html.fromstring((tmp_path / "new" / "r.html").read_text(encoding="utf-8"))
    text = page.text_content()
    for expected in (
        "Replay of 2 sites",
        "4 runs, made 2026-01-02T03:04:05Z with linkscore 1.2.3",
        "Harvest curves of s: user_content",
        "4 fetches; 10 pages can be reached, 3 of them are target pages.",
        "ab" * 32,
        "0.725 ±0.318",
        "sum of good(n) over n = 1..N",
    ):
        assert expected in text, expected
    assert len(page.findall(".//svg")) == 2
    assert (tmp_path / "new" / "r.html").read_text().count("fill-opacity") == 1, "a band where runs differ"
    elements = list(page.iter())
    assert not {"link", "img", "script", "iframe", "base", "image", "use"} & {each.tag for each in elements}
    loading = {"src", "href", "srcset", "data", "action"}
    assert not any(loading & set(each.attrib) for each in elements)


def test_what_comes_from_a_site_is_text(tmp_path: Path) -> None:
    evil = run(site=EVIL, policy=EVIL + "\udcff", mode=EVIL)
    write_report(tmp_path / "r.html", [evil], Meta(EVIL, {EVIL: Input(EVIL)}, EVIL))
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<img" not in text
    assert escape(EVIL) in text
    with pytest.raises(InvalidInput, match="runs: must have at least one run"):
        write_report(tmp_path / "r.html", [], META)
