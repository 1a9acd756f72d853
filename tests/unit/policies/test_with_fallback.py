"""A policy that falls back scores by itself on sites it knows, and hands over everything on the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from linkscore_scoring.policies.base import FOLLOW, Explanation, Scored, Scores
from linkscore_scoring.policies.with_fallback import FallbackParams, WithFallback
from linkscore_scoring.site.learning import LearningConfig, SiteBounds
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch


class Known(WithFallback):
    """Ready once told so; every second link is worth 0.9."""

    name = "known"
    Params = FallbackParams
    ready = False

    def is_ready(self, site: SiteModel) -> bool:
        return self.ready

    def score_own(self, links: LinkBatch, site: SiteModel) -> Scored:
        places = self.own_buckets(links, site)
        return Scored(self.value_own(places, site), places, [FOLLOW] * len(links), [1] * len(links))

    def own_buckets(self, links: LinkBatch, site: SiteModel) -> list[str]:
        return [f"k{key % 2}" for key in links.keys]

    def value_own(self, places: Sequence[str], site: SiteModel) -> Scores:
        return np.array([0.9 if place == "k1" else 0.1 for place in places])

    def explain_own(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        return [Explanation("own", []) for _ in links.urls]

    def describe(self, site: SiteModel) -> str:
        return "nothing is known"


@pytest.fixture
def site() -> SiteModel:
    return SiteModel("a.org", LearningConfig(), SiteBounds())


@pytest.fixture
def links() -> LinkBatch:
    urls = ["https://a.org/x", "https://a.org/y"]
    return LinkBatch(urls, [10, 11], [1, 1], [-2, -2], [1, 4], [0, 0], ["", ""])


def made(fallback: str = "breadth_first") -> Known:
    return Known(FallbackParams(fallback=fallback))


def test_before_it_is_ready_the_fallback_scores_and_nothing_is_advised(
    site: SiteModel, links: LinkBatch
) -> None:
    policy = made()
    scored = policy.score(links, site)
    alone = policy.fallback.score(links, site)
    assert scored.scores.tolist() == alone.scores.tolist()
    assert scored.buckets == [f"k0~{alone.buckets[0]}", f"k1~{alone.buckets[1]}"]
    assert (scored.verdicts, scored.url_types) == (None, None)
    assert policy.value(scored.buckets, site).tolist() == policy.fallback.value(alone.buckets, site).tolist()


def test_links_found_before_it_was_ready_are_worth_what_it_thinks_of_them_now(
    site: SiteModel, links: LinkBatch
) -> None:
    policy = made()
    before = policy.score(links, site).buckets
    policy.ready = True
    scored = policy.score(links, site)
    assert scored.scores.tolist() == [0.1, 0.9]
    assert (scored.verdicts, scored.url_types) == ([FOLLOW] * 2, [1, 1])
    assert scored.buckets == before
    assert policy.value(before, site).tolist() == [0.1, 0.9]


def test_an_explanation_says_why_it_abstains(site: SiteModel, links: LinkBatch) -> None:
    policy = made()
    assert policy.explain(links, site)[0].summary.startswith("nothing is known; breadth_first: ")
    policy.ready = True
    assert [found.summary for found in policy.explain(links, site)] == ["own", "own"]


@pytest.mark.parametrize("name", ["no_such", "pagerank", "focus"])
def test_a_fallback_that_cannot_be_one_is_named(name: str) -> None:
    (problem,) = FallbackParams(fallback=name).problems()
    assert problem.field == "fallback"
    assert name in problem.rule


def test_while_it_is_not_ready_the_fallback_answers_what_else_is_asked(site: SiteModel) -> None:
    policy = made("harvest")
    groups = [(0, 0)]
    assert policy.expected_rewards(groups, site) is not None
    assert policy.suggest_examples(3, site) == []
    policy.ready = True
    assert policy.expected_rewards(groups, site) is None
