"""The parts of a report: places in a drawing, labels apart, markup that escapes, shares of page types."""

from __future__ import annotations

import re
from typing import Any

import pytest

from linkscore_lab.metrics import DEFINITIONS
from linkscore_lab.replay.results import RunResult
from linkscore_lab.replay.summary import group_runs
from linkscore_lab.report.charts import Axes, area, line, shares, spread, ticks
from linkscore_lab.report.html import Html, marks_of, tag
from linkscore_lab.report.tables import glance_table, metrics_table


def run(policy: str = "harvest", seed: int = 1, **other: Any) -> RunResult:
    fields: dict[str, Any] = {
        "site": "s",
        "task": "user_content",
        "mode": "none",
        "start": "https://s.test/",
        "budget": 4,
        "fetched": 4,
        "seconds": 1.0,
        "metrics": {},
        "curve": (0, 1, 2, 3),
        "n_reachable": 10,
        "n_wanted": 3,
        "order_digest": f"{policy} {seed}",
    }
    return RunResult(**{**fields, "policy": policy, "seed": seed, **other})


def test_places_are_thousandths_and_up_is_up() -> None:
    assert Axes(200, 50).points([0, 100, 200], [0, 25, 50]) == [(0, 1000), (500, 500), (1000, 0)]


def test_a_line_goes_by_steps() -> None:
    assert line([(0, 1000), (5, 990), (10, 995)]) == "M0 1000l5-10 5 5"
    assert line([(3, 4)]) == "M3 4"


def test_an_area_goes_back_along_its_lower_edge() -> None:
    assert area([(0, 1), (5, 2)], [(0, 9), (5, 8)]) == "M0 1l5 1 0 6-5 1z"


@pytest.mark.parametrize(
    ("highest", "expected"),
    [
        (1136, [0, 200, 400, 600, 800, 1000]),
        (575, [0, 100, 200, 300, 400, 500]),
        (6, [0, 1, 2, 3, 4, 5, 6]),
        (1, [0, 1]),
        (14, [0, 5, 10]),
        (150, [0, 25, 50, 75, 100, 125, 150]),
    ],
)
def test_ticks_are_round_and_no_more_than_asked(highest: int, expected: list[int]) -> None:
    assert ticks(highest, 7) == expected


def test_labels_are_moved_apart_and_keep_their_order() -> None:
    assert spread([50, 10, 51], 5) == [50, 10, 55]
    assert spread([99, 100, 98], 5) == [95, 100, 90]


def test_labels_without_room_share_it() -> None:
    assert spread([0, 0, 0], 80) == [0, 50, 100]
    assert spread([40], 5) == [40]
    assert spread([], 5) == []


def test_text_is_escaped_and_markup_is_not() -> None:
    assert tag("p", "<b>", Html("<i>"), class_='"x"', data_p=3) == (
        '<p class="&quot;x&quot;" data-p="3">&lt;b&gt;<i></p>'
    )
    assert tag("p", None, title=None, hidden=True, open=False) == "<p hidden></p>"


def test_policies_differ_in_number_and_in_colour_or_dashes() -> None:
    marks = marks_of([run(f"p{i}") for i in range(20)])
    assert [mark.number for mark in marks.values()] == list(range(1, 21))
    assert len({mark.style for mark in marks.values()}) == 20


def test_the_baseline_takes_no_colour() -> None:
    marks = marks_of([run("a"), run("breadth_first"), run("b"), run("a")])
    assert [(m.number, m.style) for m in marks.values()] == [(1, "c0 d0"), (2, "base"), (3, "c1 d0")]


def test_shares_of_page_types_are_means_over_runs() -> None:
    # after 2 of 4 fetches 1/2 and 2/2 threads, after 4 of 4 they are 3/4 and 2/4
    runs = [
        run(composition={"thread": (0, 1, 2, 3), "board": (1, 1, 1, 1)}),
        run(composition={"thread": (1, 2, 2, 2), "board": (0, 0, 1, 2)}),
    ]
    found = shares(runs, n_steps=2)
    assert found["thread"] == pytest.approx([0.75, 0.625])
    assert found["board"] == pytest.approx([0.25, 0.375])


def test_more_steps_than_fetches_repeat_them() -> None:
    found = shares([run(fetched=2, curve=(0, 1), composition={"thread": (0, 1), "x": (1, 1)})], n_steps=4)
    assert found["thread"] == pytest.approx([0, 0, 0.5, 0.5])


def rows_of(table: str) -> list[list[str]]:
    """Return the text of each cell of the body."""
    rows = re.findall(r"<tr data-p.*?</tr>", table)
    return [
        [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in rows
    ]


def test_the_table_of_all_sites_has_means_of_policies_that_ran_everywhere() -> None:
    runs = [
        run("a", metrics={"valid_ratio": 0.5}),
        run("b", metrics={"valid_ratio": 0.6}),
        run("a", metrics={"valid_ratio": 0.9}, site="t"),
    ]
    groups = group_runs(runs)
    table = glance_table({"s": groups[:2], "t": groups[2:]}, "valid_ratio", marks_of(runs), "all")
    assert rows_of(table) == [["1 a", "0.500", "0.900", "0.700"], ["2 b", "0.600", "–", "–"]]
    assert table.count('class="best"') == 1  # of s alone: the other columns hold one value


def test_the_table_of_figures_shows_intervals_and_repeated_runs() -> None:
    # .2 and .4: half = 12.706205 * .2 / 2 = 1.271
    runs = [
        run("a", 1, metrics={"valid_ratio": 0.2, "recall": None}, cpu_seconds=1.0),
        run("a", 2, metrics={"valid_ratio": 0.4, "recall": None}, cpu_seconds=2.0),
        run("b", 1, metrics={"valid_ratio": 0.9}, order_digest="x", links_out_of_archive=1500),
        run("b", 2, metrics={"valid_ratio": 0.9}, order_digest="x", links_out_of_archive=1500),
    ]
    table = metrics_table(group_runs(runs), marks_of(runs), "figures")
    assert rows_of(table) == [
        ["1 a", "0.300 ±1.271", "0", "1.5", "2"],
        ["2 b", "0.900", "1,500", "0.0", "2 (all equal)"],
    ]
    assert DEFINITIONS["valid_ratio"].text in table
    assert "recall" not in table
