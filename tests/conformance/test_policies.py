"""Every policy passes the suite of the library, and a policy from outside can be checked with it."""

from __future__ import annotations

from typing import Any

import pytest

from linkscore_scoring.policies.base import Policy
from linkscore_scoring.policies.registry import builtin
from linkscore_scoring.policies.with_fallback import WithFallback
from linkscore_scoring.testing import CHECKS, check_policy
from linkscore_scoring.testing.conformance import (
    Subject,
    check_it_beats_random_order,
    check_memory_is_bounded,
    check_questions_change_nothing,
    check_state_round_trip_gives_the_same_future,
)
from linkscore_scoring.testing.crawl import GeneratedSite
from support.toy_policies import Deepest, Forgetful, Longest, Peeking

EXAMPLE = {"example_url": GeneratedSite(0).example}


DEAR = (check_it_beats_random_order, check_memory_is_bounded)
"""Checks of seconds each, or of a hundred thousand pages."""


def subject_of(policy: type[Policy]) -> Subject:
    return Subject(policy, EXAMPLE if "example_html" in policy.Params.__slots__ else {})


@pytest.mark.parametrize("policy", builtin().values(), ids=lambda policy: policy.name)
def test_every_policy_passes(policy: type[Policy]) -> None:
    for check in CHECKS:
        if check not in DEAR:
            check(subject_of(policy))


@pytest.mark.long
@pytest.mark.parametrize("check", DEAR, ids=lambda check: check.__name__)
@pytest.mark.parametrize("policy", builtin().values(), ids=lambda policy: policy.name)
def test_every_policy_passes_what_takes_long(policy: type[Policy], check: Any) -> None:
    assert check(subject_of(policy)) is None


VARIANTS: dict[str, list[dict[str, Any]]] = {
    "anthelion": [
        {
            "value_function": "absolute_good_best_score",
            "explore_prob": 0.2,
            "decay_pulls": 10,
            "hub_weight": 0.0,
        },
        {"classifier": "multinomial_nb"},
    ],
    "focus": [{"dry_pages": 5}],
    "harvest": [{"exploration": 0.5, "hub_weight": 0.0, "curiosity": 0.0}],
    "pagerank": [{"every": 7, "damping": 0.5}],
    "source_target": [{**EXAMPLE, "multi_hop": False, "alpha": 0.2}],
    "source_ucc": [{"without_dsim": True, "without_balance": True}, {"without_info": True}],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_a_policy_passes_with_other_parameters_and_parts(name: str) -> None:
    for params in VARIANTS[name]:
        for check in CHECKS:
            if check not in DEAR:
                check(Subject(builtin()[name], params))


FALLING_BACK = [kind for kind in builtin().values() if issubclass(kind, WithFallback)]


@pytest.mark.slow
@pytest.mark.parametrize("fallback", ["harvest", "anthelion", "source_ucc"])
@pytest.mark.parametrize("policy", FALLING_BACK, ids=lambda policy: policy.name)
def test_a_policy_that_falls_back_is_the_same_after_a_restart(policy: type[Policy], fallback: str) -> None:
    """What the fallback knows of site and crawl is kept."""
    subject = Subject(policy, {"fallback": fallback})
    assert check_state_round_trip_gives_the_same_future(subject) is None


def test_a_policy_from_outside_is_checked_by_one_call() -> None:
    assert check_policy(Deepest, {"share": 0.5}) is None


def test_a_policy_that_keeps_no_state_is_found_out() -> None:
    with pytest.raises(AssertionError, match="forgetful"):
        check_state_round_trip_gives_the_same_future(Subject(Forgetful, {}))


def test_a_policy_that_learns_from_questions_is_found_out() -> None:
    with pytest.raises(AssertionError, match="a question changed the state"):
        check_questions_change_nothing(Subject(Peeking, {}))


def test_a_policy_that_is_no_better_than_chance_is_found_out() -> None:
    with pytest.raises(AssertionError, match="against random order"):
        check_it_beats_random_order(Subject(Longest, {}))
