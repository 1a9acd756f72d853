"""News by prefix: verdicts, hubs, rules, and handing over where logs tell nothing."""

from __future__ import annotations

import re

import pytest

from linkscore_scoring.browse_logs.mining import MinedSite
from linkscore_scoring.browse_logs.news import Hub, NewsModel, NewsPrefix
from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.events import LogsMined
from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.base import FOLLOW, SKIP
from linkscore_scoring.policies.browse_log import NewsByPrefix
from linkscore_scoring.policies.with_fallback import FallbackParams
from linkscore_scoring.site.learning import LearningConfig, SiteBounds
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import packed, plain, unpacked
from linkscore_scoring.testing.crawl import crawl_model
from linkscore_scoring.types import LinkBatch
from linkscore_scoring.urls.identity import identity

URLS = [
    "https://a.test/news/7.html",
    "http://a.test/newsletter/7.html",
    "http://a.test/~me/view.php?b=2&a=1",
    "https://a.test/lists",
    "http://a.test/deep/er/and/deeper/x.html",
]
PREFIXES = [
    NewsPrefix("a.test/deep/er/and/deeper/", 0.85, 0.6, 5, URLS[4]),
    NewsPrefix("a.test/news/", 0.95, 0.9, 40, "http://a.test/news/1.html"),
    NewsPrefix("a.test/~me/view.php?", 0.9, 0.8, 10, "http://a.test/~me/view.php?a=1"),
]
HUBS = [Hub("http://a.test/lists", 20, 25, 20), Hub("http://a.test/", 10, 90, 2)]


def site_with(news: NewsModel | None) -> SiteModel:
    site = SiteModel("a.test", LearningConfig(), SiteBounds())
    site.browse = None if news is None else MinedSite(0, 60, 1_000, news)
    return site


def model(prefixes: list[NewsPrefix], reason: str = "") -> NewsModel:
    return NewsModel(100, 40, prefixes, 0.9, HUBS, reason)


def links_to(urls: list[str]) -> LinkBatch:
    n = len(urls)
    keys = [hash64(identity(url)) for url in urls]
    return LinkBatch(urls, keys, [1] * n, [-2] * n, [1] * n, [0] * n, [""] * n)


@pytest.fixture
def policy() -> NewsByPrefix:
    return NewsByPrefix(FallbackParams(fallback="breadth_first"))


def test_links_below_prefixes_and_to_hubs_are_followed_and_others_skipped(policy: NewsByPrefix) -> None:
    scored = policy.score(links_to(URLS), site_with(model(PREFIXES)))
    # 0.5 + 0.5 x .9, elsewhere, 0.5 + 0.5 x .8, hub of 20 of 40 news pages, 0.5 + 0.5 x .6.
    assert scored.scores.tolist() == pytest.approx([0.95, 0.1, 0.9, 0.75, 0.8])
    assert scored.verdicts == [FOLLOW, SKIP, FOLLOW, FOLLOW, FOLLOW]


def test_links_found_before_the_log_was_mined_are_worth_what_it_says_now(policy: NewsByPrefix) -> None:
    before = policy.score(links_to(URLS), site_with(None))
    assert before.verdicts is None
    values = policy.value(before.buckets, site_with(model(PREFIXES)))
    # Only a prefix deeper than three steps and a hub are not told by the place of a link.
    assert values.tolist() == pytest.approx([0.95, 0.1, 0.9, 0.1, 0.1])


@pytest.mark.parametrize("news", [None, model(PREFIXES, "URLs carry no news prefix")])
def test_without_prefixes_the_fallback_scores_and_the_reason_is_said(
    policy: NewsByPrefix, news: NewsModel | None
) -> None:
    site = site_with(news)
    scored = policy.score(links_to(URLS), site)
    assert scored.verdicts is None
    assert scored.scores.tolist() == policy.fallback.score(links_to(URLS), site).scores.tolist()
    assert policy.describe(site).startswith("abstains: ")
    assert policy.explain(links_to(URLS[:1]), site)[0].summary.startswith("abstains: ")
    assert policy.rules(site) == []


def test_rules_fit_what_lies_below_prefixes_and_nothing_else(policy: NewsByPrefix) -> None:
    rules = policy.rules(site_with(model(PREFIXES)))
    assert [(rule.kind, rule.pattern, rule.match_count, rule.total_count) for rule in rules] == [
        ("news", r"^https?://a\.test/news/", 38, 40),
        ("news", r"^https?://a\.test/~me/view\.php\?", 9, 10),
        ("news", r"^https?://a\.test/deep/er/and/deeper/", 4, 5),
    ]
    fits = [[bool(re.search(rule.pattern, url)) for rule in rules] for url in URLS]
    assert fits == [[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1]]
    assert all(re.search(rule.pattern, rule.example_url) for rule in rules)


def test_hubs_are_seeds_also_where_prefixes_tell_nothing(policy: NewsByPrefix) -> None:
    seeds = policy.suggest_seeds(5, site_with(model([], "URLs carry no news prefix")))
    assert [(seed.url, seed.value) for seed in seeds] == [(HUBS[0].url, 0.5), (HUBS[1].url, 0.25)]
    assert seeds[1].reason == "visitors went from it to 10 news pages, 2 of them from no seed before"
    assert policy.suggest_seeds(1, site_with(model(PREFIXES))) == seeds[:1]
    assert policy.suggest_seeds(5, site_with(None)) == []


def test_an_explanation_names_prefix_or_hub(policy: NewsByPrefix) -> None:
    found = [why.summary for why in policy.explain(links_to(URLS[:4]), site_with(model(PREFIXES)))]
    assert found == [
        "below a.test/news/, where 95% of the pages are news",
        "lies below no news prefix and is no hub",
        "below a.test/~me/view.php?, where 90% of the pages are news",
        "a hub: visitors go from it to news",
    ]


def test_a_crawl_goes_by_the_latest_window_and_so_does_its_copy() -> None:
    choice = PolicyChoice("news_prefix", {"fallback": "breadth_first"})
    crawl, again = crawl_model(choice), crawl_model(choice)
    for seq, prefixes in enumerate(([PREFIXES[0]], [PREFIXES[1]]), start=1):
        mined = plain(MinedSite(seq, 60, 1_000, model(prefixes)))
        crawl.apply(seq, LogsMined("a.test", mined))
    again.load_state(unpacked(packed(crawl.to_state())))
    for each in (crawl, again):
        shard = each.shard("a.test")
        assert shard.served.score(links_to(URLS), shard.model).verdicts == [FOLLOW, SKIP, SKIP, FOLLOW, SKIP]
        assert [seed.url for seed in shard.served.suggest_seeds(1, shard.model)] == [HUBS[0].url]
        assert [rule.pattern for rule in shard.served.rules(shard.model)] == [r"^https?://a\.test/news/"]
