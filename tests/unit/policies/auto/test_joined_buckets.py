"""Buckets of several policies in one name."""

from __future__ import annotations

from linkscore_scoring.policies.auto.policy import joined, part_of, values_by
from linkscore_scoring.policies.base import make_params
from linkscore_scoring.policies.link_graph.in_degree import InDegree
from linkscore_scoring.site.config import LearningConfig, SiteBounds
from linkscore_scoring.site.model import SiteModel


def test_parts_come_back_whatever_they_hold() -> None:
    parts = ["d1", "", "a|b%7C", "%", "*x"]
    assert [part_of(joined(parts), at) for at in range(6)] == [*parts, ""]
    assert joined(["d1", "8"]) == "*d1|8"


def test_a_bucket_of_one_policy_stays_whole() -> None:
    assert part_of("h1.a|b", 1) == "h1.a|b"


def test_steps_are_sixteenths_and_what_is_none_is_worth_nothing() -> None:
    policy, site = InDegree(make_params(InDegree, {})), SiteModel("h", LearningConfig(), SiteBounds())
    assert values_by(policy, ["8", "16", "99", "", "i3", "²", "123"], site).tolist() == [
        0.5,
        1,
        1,
        0,
        0,
        0,
        0,
    ]
