"""Means, intervals and bands over seeds and starts, against numbers worked out by hand."""

from __future__ import annotations

from io import StringIO
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from linkscore_lab.replay.results import RunResult
from linkscore_lab.replay.summary import (
    best_first,
    by_question,
    curve_band,
    estimate,
    group_runs,
    half_width,
    mode_in_words,
    print_summary,
)


def run(
    seed: int, valid_ratio: float | None = 0.5, curve: tuple[int, ...] = (0, 1), **other: Any
) -> RunResult:
    fields: dict[str, Any] = {
        "site": "s",
        "task": "user_content",
        "mode": "none",
        "policy": "harvest",
        "start": "https://s.test/",
        "budget": 4,
        "fetched": len(curve),
        "seconds": 1.0,
        "metrics": {"valid_ratio": valid_ratio},
        "n_reachable": 10,
        "n_wanted": 3,
        "order_digest": f"order {seed}",
    }
    return RunResult(**{**fields, "seed": seed, "curve": curve, **other})


def test_the_interval_is_students() -> None:
    # mean .4, s = .2, t(2 degrees, .975) = 4.302653: 4.302653 * .2 / sqrt(3)
    found = estimate([0.2, 0.4, 0.6])
    assert found is not None
    assert (found.mean, found.half_width, found.n) == (
        pytest.approx(0.4),
        pytest.approx(0.496828, abs=1e-6),
        3,
    )
    assert (found.low, found.high) == (pytest.approx(-0.096828, abs=1e-6), pytest.approx(0.896828, abs=1e-6))


def test_one_value_has_no_interval_and_none_no_mean() -> None:
    found = estimate([0.3])
    assert found is not None
    assert (found.mean, found.half_width, found.low, found.high, found.n) == (0.3, None, None, None, 1)
    assert estimate([]) is None


def test_half_widths_are_per_column() -> None:
    # two rows: s = |difference| / sqrt 2, t(1) = 12.706205: 12.706205 * |difference| / 2
    found = half_width(np.array([[0.0, 1.0], [0.0, 3.0]]))
    assert found == pytest.approx([0.0, 12.706205], abs=1e-6)


def test_runs_are_grouped_by_site_task_mode_and_policy() -> None:
    groups = group_runs([run(1), run(2, policy="opic"), run(3), run(4, mode="feedback")])
    assert [(g.policy, g.mode, len(g.runs)) for g in groups] == [
        ("harvest", "none", 2),
        ("opic", "none", 1),
        ("harvest", "feedback", 1),
    ]
    assert [len(members) for members in by_question(groups).values()] == [2, 1]


def test_seeds_that_change_nothing_are_one_observation() -> None:
    (group,) = group_runs([run(1, order_digest="same"), run(2, order_digest="same"), run(3, 0.7)])
    found = group.metric("valid_ratio")
    assert found is not None
    assert (found.n, found.mean) == (2, pytest.approx(0.6))
    assert len(group.runs) == 3


def test_the_same_order_from_another_start_or_measured_otherwise_is_another_observation() -> None:
    same = [run(1, order_digest="o"), run(2, order_digest="o", start="x"), run(3, 0.7, order_digest="o")]
    assert len(group_runs(same)[0].observations) == 3


def test_runs_without_a_value_are_left_out() -> None:
    (group,) = group_runs([run(1, 0.2), run(2, None)])
    found = group.metric("valid_ratio")
    assert found is not None
    assert (found.mean, found.n) == (0.2, 1)
    assert group.metric("coverage") is None


def test_a_band_by_hand() -> None:
    # the second run ended after two fetches and keeps its 2; means 1/2, 3/2, 2, 5/2
    # differences 1, 1, 0, 1: half = 12.706205 / 2 or 0; kept within 0 and min(n, 3 wanted)
    (group,) = group_runs([run(1, curve=(0, 1, 2, 3)), run(2, curve=(1, 2))])
    band = curve_band(group)
    assert (band.points, band.mean) == ([1, 2, 3, 4], [0.5, 1.5, 2.0, 2.5])
    assert (band.low, band.high) == ([0.0, 0.0, 2.0, 0.0], [1.0, 2.0, 2.0, 3.0])


def test_a_band_has_no_more_points_than_asked_and_ends_at_the_end() -> None:
    (group,) = group_runs([run(1, curve=tuple(range(1000)))])
    band = curve_band(group, most=3)
    assert (band.points, band.mean) == ([333, 666, 1000], [332.0, 665.0, 999.0])
    assert (band.low, band.high) == (None, None)


def test_a_run_without_a_fetch_has_an_empty_band() -> None:
    assert curve_band(group_runs([run(1, curve=())])[0]).points == []


def test_the_best_comes_first_and_who_has_no_value_last() -> None:
    groups = group_runs([run(1, None, policy="a"), run(1, 0.4, policy="b"), run(1, 0.9, policy="c")])
    assert [g.policy for g in best_first(groups, "valid_ratio")] == ["c", "b", "a"]


def test_fewer_fetches_are_better() -> None:
    metrics = [{"fetches_to_50pct": 30}, {"fetches_to_50pct": 20}]
    groups = group_runs([run(1, policy=f"p{i}", metrics=each) for i, each in enumerate(metrics)])
    assert [g.policy for g in best_first(groups, "fetches_to_50pct")] == ["p1", "p0"]


def test_the_table_shows_mean_and_half_interval_and_only_metrics_that_are_there() -> None:
    console = Console(file=StringIO(), width=100)
    runs = [run(1, 0.2), run(2, 0.4), run(3, 0.6), run(1, 0.9, policy="harvest:rate=[red]")]
    print_summary(console, runs)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "s: user_content, no labels" in text
    assert "0.400 ±0.497" in text
    assert text.index("harvest:rate=[red]") < text.index("0.400")
    assert "recall" not in text


def test_a_mode_names_its_examples_and_a_policy_that_takes_one_says_so() -> None:
    console = Console(file=StringIO(), width=100)
    given = [
        run(1, 0.2, mode="examples", n_examples=6),
        run(1, 0.3, policy="b", mode="examples", n_examples=6),
    ]
    print_summary(
        console, [*given, run(1, 0.4, n_examples=1), run(1, 0.3, policy="b"), run(1, mode="feedback")]
    )
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "s: user_content, with 6 examples" in text
    assert "s: user_content, with feedback" in text
    assert text.count("(takes an example page)") == 1
    assert text.index("no labels") < text.index("(takes an example page)")


def test_a_file_that_does_not_say_how_many_examples_there_were_has_no_number() -> None:
    assert mode_in_words("examples", group_runs([run(1, mode="examples")])) == "with examples"
