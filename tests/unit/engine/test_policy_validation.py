"""Policies of a crawl judged on the links that are fetched."""

from __future__ import annotations

from linkscore_scoring.columns import squash
from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged, FeedbackGiven
from linkscore_scoring.policies.answers import EXTRA
from support.recorded_crawls import config, model, page, recorded

HOME = "http://h/"


def site(crawl: CrawlModel):  # type: ignore[no-untyped-def]
    return next(iter(crawl.sites.values()))


def test_scores_are_those_before_the_fetch() -> None:
    crawl = model(policy=PolicyChoice("in_degree"), extra_policies=(PolicyChoice("breadth_first"),))
    for seq, url in enumerate(("", "a", "b"), 1):
        crawl.apply(seq, page(HOME + url, HOME + "a", HOME + "b"))
    # /a was linked once, then /b by the home page and by /a
    assert site(crawl).validation.columns()[0].tolist() == [[1 / 2, squash(2.0)], [1 / 2, 1 / 2]]


def test_a_policy_that_needs_feedback_is_judged_once_there_is_some() -> None:
    crawl = model(policy=PolicyChoice("anthelion"), extra_policies=())
    crawl.apply(1, page(HOME, HOME + "a", HOME + "b"))
    crawl.apply(2, page(HOME + "a"))
    assert site(crawl).policy_qualities()[0].judged == 0
    crawl.apply(3, FeedbackGiven("", "h", HOME + "a", b"", 1.0, 0.0))
    crawl.apply(4, page(HOME + "b"))
    assert site(crawl).policy_qualities()[0].judged == 1


def test_quality_is_told_from_16_links_on() -> None:
    """The reward falls along a chain whose dates rise, so fewest clicks first is always right."""
    crawl = model(policy=PolicyChoice("breadth_first"), extra_policies=(PolicyChoice("newest"),))
    for n in range(17):
        assert [row.quality for row in site(crawl).policy_qualities()] == [0.5, 0.5] if n else not crawl.sites
        url, following = (f"{HOME}2025/01/{day:02}" for day in (n + 1, n + 2))
        crawl.apply(2 * n + 1, page(url, following))
        crawl.apply(2 * n + 2, FeedbackGiven("", "h", url, b"", 1 / (1 + n), 0.0))
    breadth, newest = site(crawl).policy_qualities()
    assert (breadth.quality, newest.quality) == (1.0, 0.0)
    assert breadth.reward == newest.reward > 0.0


def test_a_policy_that_stays_keeps_its_record() -> None:
    crawl, _ = recorded(60)
    before = {row.policy: row for row in site(crawl).policy_qualities()}
    changed = config(policy=PolicyChoice("source_ucc"), extra_policies=(PolicyChoice("opic"), PolicyChoice()))
    crawl.apply(crawl.seq + 1, ConfigChanged(changed.to_state()))
    ucc, opic, harvest = site(crawl).policy_qualities()
    assert (ucc.judged, ucc.quality) == (before["source_ucc"].judged, before["source_ucc"].quality)
    assert (harvest.judged, harvest.quality, harvest.role) == (
        before["harvest"].judged,
        before["harvest"].quality,
        EXTRA,
    )
    assert (opic.judged, opic.quality) == (0, 0.5)


def test_figures_are_read_while_the_policies_change() -> None:
    """As by a scrape of the metrics in its thread, which may see more policies than are judged yet."""
    crawl, _ = recorded(60)
    assert len(site(crawl).validation.figures([site(crawl).served] * 5)) == 3
