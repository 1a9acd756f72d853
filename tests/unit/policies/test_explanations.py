"""Every number an explanation names is one the score is made of: they recombine to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log2

import pytest

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.policies.registry import builtin
from linkscore_scoring.testing.conformance import Subject
from linkscore_scoring.testing.crawl import GeneratedSite, SimulatedCrawl, crawl_model

ROUNDED = {"source_target": 0.0101}
"""Half a step, for a policy whose scores come in steps."""

Terms = Mapping[str, float]
EXAMPLE = {"example_url": GeneratedSite(0).example}
PARAMS = {"source_target": EXAMPLE}


def of_harvest(t: Terms) -> float:
    lowered = (1.0 - t["labelled"]) * t["menu"] * max(0.0, t["mean_reward"] - t["link_reward"])
    reward = t["bulk"] * (t["mean_reward"] - lowered)
    assert t["reward"] == pytest.approx(reward)
    value = reward + t["hub"] + t["exploration"] + t["curiosity"]
    return value / (1.0 + value)


def of_topic(t: Terms) -> float:
    value = sum(t.values())
    return 0.5 * (1.0 + value / (1.0 + abs(value)))


def of_plan(t: Terms) -> float:
    return 0.9 if t["planned"] else 0.5 / (1.0 + t["depth"])


def of_clusters(t: Terms) -> float:
    if "planned" in t:
        return of_plan(t)
    likely = [name.removeprefix("P") for name in t if name.startswith("P(")]
    value = t["rest"] + sum(t[f"P{cluster}"] * t[f"value{cluster}"] for cluster in likely)
    return value / (t["best"] or 1.0)


def of_rank(value: float) -> float:
    return 1.0 / (1.0 + log2(1.0 + 1.0 / value)) if value else 0.0


FORMULAS: dict[str, Callable[[Terms], float]] = {
    "harvest": of_harvest,
    "topic": of_topic,
    "source_target": of_clusters,
    "source_ucc": of_clusters,
    "opic": lambda t: of_rank(t["cash"]),
    "pagerank": lambda t: of_rank(t["links"]),
    "in_degree": lambda t: of_rank(t["in_degree"]),
    "breadth_first": lambda t: 1.0 / (1.0 + t["depth"]),
    "uniform_random": lambda t: t["draw"],
    "newest": lambda t: t["date"] / 21e6,
    "keyword": lambda t: t["words"] / max(1.0, t["query"]),
    # Without a mined log, or a forum, these say and score what the policy they fall back to does.
    "behavior_discovery": of_harvest,
    "behavior_fetch": of_harvest,
    "news_prefix": of_harvest,
    "focus": of_harvest,
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("pages", [0, 10, 60])
def test_the_terms_of_an_explanation_recombine_to_the_score(name: str, pages: int) -> None:
    asked = Subject(builtin()[name], PARAMS.get(name, {})).after(pages)
    links = asked.links(100)
    scores = asked.policy.score(links, asked.site).scores.tolist()
    for score, why in zip(scores, asked.policy.explain(links, asked.site), strict=True):
        terms = {term.name: float(term.value) for term in why.terms}
        assert len(terms) == len(why.terms), "no name stands for two numbers"
        assert FORMULAS[name](terms) == pytest.approx(score, abs=ROUNDED.get(name, 1e-9)), why


@pytest.mark.parametrize("name", ["harvest", "topic"])
def test_they_do_so_where_labels_decide(name: str) -> None:
    crawl = SimulatedCrawl(crawl_model(PolicyChoice(name)), GeneratedSite(0), reports=True)
    asked = crawl.fetch(60)
    links = asked.links(100)
    scores = asked.policy.score(links, asked.site).scores.tolist()
    for score, why in zip(scores, asked.policy.explain(links, asked.site), strict=True):
        terms = {term.name: float(term.value) for term in why.terms}
        assert terms.get("labelled", 1.0) > 0.5
        assert FORMULAS[name](terms) == pytest.approx(score, abs=1e-9), why
