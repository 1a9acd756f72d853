"""What a site hands out: rules of the policy, seeds, tag paths of a learned site."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.exporters import site_rules
from linkscore_scoring.policies import registry
from linkscore_scoring.types import LinkBatch, SeedWanted
from support.recorded_crawls import model, page, recorded
from support.ruled_policy import Ruled

SITE = "site.example"


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_external", {"toy_ruled": Ruled})


@pytest.fixture(scope="module")
def learned() -> CrawlModel:
    return recorded(60, policy=PolicyChoice("source_ucc"))[0]


def ruled(policy: str = "toy_ruled") -> CrawlModel:
    crawl = model(policy=PolicyChoice(policy))
    crawl.apply(1, page("https://h/a", "https://h/b"))
    return crawl


def test_without_seeds_of_the_policy_there_is_the_root_by_the_scheme_that_was_seen() -> None:
    assert site_rules(ruled("breadth_first"), "h").seeds == ("https://h/",)


def test_seeds_that_only_may_be_one_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [SeedWanted("https://h/", "entry", 0.8), SeedWanted("https://h/l", "list", 0.4)]
    found.append(SeedWanted("https://h/find", "may be", 0.1))
    monkeypatch.setattr(Ruled, "suggest_seeds", lambda _self, n, _site: found[:n])
    assert site_rules(ruled(), "h").seeds == ("https://h/", "https://h/l")


def test_tag_paths_are_those_of_at_least_average_worth_best_first(learned: CrawlModel) -> None:
    """Of every row of the navigation table that was followed, by the policy's own scores."""
    site, found = learned.shard(SITE).model, site_rules(learned, SITE).tag_paths
    rows = [row for row in site.navigation.entries() if row.followed > 0.0]
    policy = learned.shard(SITE).served
    n, zeros = len(rows), [0] * len(rows)
    paths, sources = [row.link_path for row in rows], [row.source for row in rows]
    links = LinkBatch([f"http://{SITE}/"] * n, zeros, paths, sources, [1] * n, zeros, [""] * n)
    values = policy.score(links, site).scores
    mean = np.average(values, weights=[max(1, row.links) for row in rows])
    assert len(found) == int((values >= mean - 1e-12).sum()) > 0
    assert [rule.value for rule in found] == sorted(values[values >= mean - 1e-12], reverse=True)
    for rule in found:
        assert rule.tag_path
        assert rule.source.startswith(("c", "outlier"))
        assert 0.0 < rule.destination_prob <= 1.0
