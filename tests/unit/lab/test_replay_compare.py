"""Two result files against each other, by hand."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from linkscore_cli.main import main
from linkscore_lab.replay.compare import Comparison, compare, print_comparison
from linkscore_lab.replay.results import Input, Meta, Results, RunResult, write_results
from linkscore_scoring.errors import InvalidInput

META = Meta("2026-01-02T03:04:05Z", {"s": Input("a" * 64)})


def run(seed: int, valid_ratio: float | None, **other: Any) -> RunResult:
    fields: dict[str, Any] = {
        "site": "s",
        "task": "user_content",
        "mode": "none",
        "policy": "harvest",
        "start": "https://s.test/",
        "budget": 4,
        "fetched": 2,
        "seconds": 1.0,
        "metrics": {"valid_ratio": valid_ratio, "fetches_to_50pct": 100 - seed, "entropy": float(seed)},
        "n_reachable": 10,
        "n_wanted": 3,
        "order_digest": f"order {seed} {valid_ratio}",
    }
    return RunResult(**{**fields, "seed": seed, "curve": (0, 1), **other})


def results(*runs: RunResult) -> Results:
    return Results(META, runs)


BEFORE = results(run(1, 0.1), run(2, 0.2), run(3, 0.3))
AFTER = results(run(3, 0.9), run(1, 0.3), run(2, 0.6))


def test_gain_and_interval_are_those_of_the_pairs() -> None:
    # differences .2, .4, .6: mean .4, half = 4.302653 * .2 / sqrt 3 = .496828
    (gain,) = compare(BEFORE, AFTER, ["valid_ratio"]).gains
    assert (gain.first, gain.second) == (pytest.approx(0.2), pytest.approx(0.6))
    assert (gain.gain.mean, gain.gain.half_width) == (pytest.approx(0.4), pytest.approx(0.496828, abs=1e-6))
    assert (gain.gain.n, gain.verdict) == (3, "noise")


def test_a_steady_gain_is_beyond_noise_though_the_runs_differ_more() -> None:
    # differences .05, .06, .055: s = .005, half = 4.302653 * .005 / sqrt 3 = .0124
    after = results(run(1, 0.15), run(2, 0.26), run(3, 0.355))
    (gain,) = compare(BEFORE, after, ["valid_ratio"]).gains
    assert gain.gain.half_width == pytest.approx(0.01242, abs=1e-5)
    assert gain.verdict == "better"
    assert compare(after, BEFORE, ["valid_ratio"]).gains[0].verdict == "worse"


def fetches(*values: int) -> Results:
    return results(*(run(i, 0.5, metrics={"fetches_to_50pct": v}) for i, v in enumerate(values)))


def test_fewer_fetches_are_better() -> None:
    (gain,) = compare(fetches(100, 200, 300), fetches(50, 149, 251), ["fetches_to_50pct"]).gains
    assert (gain.gain.mean, gain.verdict) == (-50, "better")


def test_entropy_is_neither_better_nor_worse() -> None:
    first = results(*(run(i, 0.5, metrics={"entropy": 1.0}) for i in range(2)))
    second = results(*(run(i, 0.5, metrics={"entropy": 2.0}) for i in range(2)))
    assert compare(first, second, ["entropy"]).gains[0].verdict == "different"


def test_one_pair_tells_nothing_of_noise() -> None:
    assert compare(results(run(1, 0.1)), results(run(1, 0.9)), ["valid_ratio"]).gains[0].verdict == "one pair"


def test_a_file_equals_itself() -> None:
    assert {gain.verdict for gain in compare(BEFORE, BEFORE, ["valid_ratio"]).gains} == {"equal"}


def test_pairs_that_repeat_each_other_count_once() -> None:
    first = results(*(run(seed, 0.1, order_digest="a") for seed in range(5)))
    second = results(*(run(seed, 0.9, order_digest="b") for seed in range(5)))
    (gain,) = compare(first, second, ["valid_ratio"]).gains
    assert (gain.gain.n, gain.gain.half_width) == (1, None)


def test_runs_without_partner_are_counted_and_named() -> None:
    found = compare(
        results(run(1, 0.1), run(4, 0.1), run(5, 0.1)), results(run(1, 0.2), run(1, 0.2, site="t"))
    )
    assert found.pairs.unmatched_first == {"s, user_content, none, harvest, budget 4": 2}
    assert found.pairs.unmatched_second == {"t, user_content, none, harvest, budget 4": 1}


def test_other_budgets_are_not_compared() -> None:
    with pytest.raises(InvalidInput, match="no run of one file has a partner"):
        compare(results(run(1, 0.1)), results(run(1, 0.1, budget=5)))


def test_two_policies_are_set_against_each_other() -> None:
    first = results(run(1, 0.1, policy="opic"), run(1, 0.5))
    second = results(run(1, 0.4), run(1, 0.2, policy="opic"))
    found = compare(first, second, ["valid_ratio"], policy_first="opic", policy_second="harvest")
    (gain,) = found.gains
    assert (gain.subject.policy, gain.gain.mean) == ("opic -> harvest", pytest.approx(0.3))
    assert not found.pairs.unmatched_first
    with pytest.raises(InvalidInput, match=r"policies of the first are opic, of the second harvest"):
        compare(results(run(1, 0.1, policy="opic")), results(run(1, 0.4)))


def test_means_over_seeds_can_be_paired() -> None:
    # one seed of the first at each start, two of the second: .1 with (.2 + .4) / 2, .3 with .3
    first = results(run(1, 0.1), run(1, 0.3, start="x"))
    second = results(run(7, 0.2), run(8, 0.4), run(7, 0.3, start="x"))
    (gain,) = compare(first, second, ["valid_ratio"], pair="start").gains
    assert (gain.gain.mean, gain.gain.n) == (pytest.approx(0.1), 2)
    (gain,) = compare(first, second, ["valid_ratio"], pair="site").gains
    assert (gain.gain.mean, gain.gain.n) == (pytest.approx(0.1), 1)


def test_a_pair_without_a_value_on_both_sides_is_left_out() -> None:
    (gain,) = compare(BEFORE, results(run(1, 0.3), run(2, None)), ["valid_ratio"]).gains
    assert gain.gain.n == 1
    assert compare(BEFORE, AFTER, ["coverage"]).gains == ()


def test_over_several_sites_the_mean_gain_has_an_interval_over_sites() -> None:
    # gains .2 and .4: mean .3, half = 12.706205 * .1
    first = results(run(1, 0.1), run(1, 0.2, site="t"))
    second = results(run(1, 0.3), run(1, 0.6, site="t"))
    (total,) = compare(first, second, ["valid_ratio"]).overall
    assert (total.subject.site, total.subject.task) == ("all", "2 groups")
    assert (total.gain.mean, total.gain.half_width) == (pytest.approx(0.3), pytest.approx(1.2706205))


def test_archives_that_differ_are_named() -> None:
    other = Results(Meta("2026-01-02T03:04:05Z", {"s": Input("b" * 64)}), AFTER.runs)
    assert compare(BEFORE, other).other_inputs == ("s",)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": ["beauty"]}, "metric: must be one of fetched, .*, got beauty"),
        ({"pair": "luck"}, "pair: must be one of seed, start, site, got 'luck'"),
        ({"policy_first": "a"}, "policy-b: is needed too"),
        ({"policy_second": "a"}, "policy-a: is needed too"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        compare(BEFORE, AFTER, **arguments)


def shown(found: Comparison) -> str:
    console = Console(file=StringIO(), width=120)
    print_comparison(console, found, "a.json", "b.json")
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_the_table_shows_gain_interval_verdict_and_what_has_no_partner() -> None:
    first = results(*BEFORE.runs, run(9, 0.1, policy="[red]x"))
    text = shown(compare(first, results(run(1, 0.15), run(2, 0.26), run(3, 0.355))))
    assert "3 0.200 0.255 +0.055 ±0.012 better" in " ".join(text.split())
    assert "1 runs of a have no partner:\n  1 x s, user_content, none, [red]x, budget 4" in text


def test_the_command_compares_files(tmp_path: Path) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, side in zip(paths, (BEFORE, AFTER), strict=True):
        write_results(path, side.runs, side.meta)
    done = CliRunner().invoke(main, ["compare", *map(str, paths), "--metric", "valid_ratio"])
    assert done.exit_code == 0
    assert "+0.400" in done.output
    assert "entropy" not in done.output


def test_the_command_says_what_is_wrong_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    done = CliRunner().invoke(main, ["compare", str(tmp_path / "a.json"), str(tmp_path / "a.json")])
    assert done.exit_code == 1
    assert "a.json.format: must be 1, got None" in done.output
    assert "Traceback" not in done.output
