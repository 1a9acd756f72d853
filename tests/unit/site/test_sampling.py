"""The sampling plan: one link per link path first, then the rest in turn."""

from __future__ import annotations

import numpy as np

from linkscore_scoring.site.learning import SamplingPlan


def _rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def _urls(plan: SamplingPlan, n: int = 99) -> list[str]:
    return [planned.url for planned in plan.plan(n)]


def test_one_url_per_link_path_comes_first_with_its_reason() -> None:
    plan = SamplingPlan()
    plan.add_page("/", {1: ["a1", "a2", "a3"], 2: ["b1"]}, _rng())
    first = plan.plan(2)
    assert [(p.link_path, p.reason) for p in first] == [(1, "one_per_apath"), (2, "one_per_apath")]
    assert first[0].url in {"a1", "a2", "a3"}
    assert first[1].url == "b1"


def test_unused_links_are_taken_in_turn_over_the_lists() -> None:
    plan = SamplingPlan()
    plan.add_page("/", {1: ["a1", "a2", "a3"], 2: ["b1", "b2", "b3"]}, _rng())
    rest = plan.plan(99)[2:]
    assert [p.link_path for p in rest] == [1, 2, 1, 2]
    assert {p.reason for p in rest} == {"unused_link"}


def test_seen_urls_are_not_drawn_again() -> None:
    plan = SamplingPlan()
    plan.add_page("a", {1: ["a", "b"]}, _rng())
    plan.add_page("b", {1: ["a", "b"]}, _rng())
    assert _urls(plan) == []


def test_fetched_and_failed_urls_leave_the_plan() -> None:
    plan = SamplingPlan()
    plan.add_page("/", {1: ["a"], 2: ["b"], 3: ["c"]}, _rng())
    plan.mark_fetched(["b", "a"])
    assert _urls(plan) == ["c"]


def test_plan_is_bounded() -> None:
    plan = SamplingPlan(max_urls=10)
    plan.add_page("/", {x: [f"{x}-{i}" for i in range(50)] for x in range(30)}, _rng())
    assert len(_urls(plan, 9_999)) <= 20
