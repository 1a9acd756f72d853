"""Every policy passes the suite of the library, and a policy from outside can be checked with it."""

from __future__ import annotations

from typing import Any

import pytest
from toy_policies import Deepest, Forgetful, Longest, Peeking

from linkscore_scoring.policies.base import Policy
from linkscore_scoring.policies.registry import builtin
from linkscore_scoring.testing import CHECKS, check_policy
from linkscore_scoring.testing.conformance import (
    check_bad_params_are_named,
    check_it_beats_random_order,
    check_questions_change_nothing,
    check_state_round_trip_gives_the_same_future,
    check_the_docstring_is_complete,
)
from linkscore_scoring.testing.site import GeneratedSite
from linkscore_scoring.testing.subject import Subject

EXAMPLE = {"example_url": GeneratedSite(0).example}
PARAMS: dict[str, dict[str, Any]] = {"source_target": EXAMPLE, "tpm": EXAMPLE}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("policy", builtin().values(), ids=lambda policy: policy.name)
def test_every_policy_passes(policy: type[Policy], check: Any) -> None:
    subject = Subject(policy, PARAMS.get(policy.name, {}))
    assert check(subject) is None


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


def test_a_policy_without_references_is_found_out() -> None:
    with pytest.raises(AssertionError, match="lacks References"):
        check_the_docstring_is_complete(Subject(Peeking, {}))


def test_params_of_a_toy_policy_are_named_like_ours() -> None:
    assert check_bad_params_are_named(Subject(Deepest, {})) is None
