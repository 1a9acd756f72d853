"""Orders by how well pages read: those of Neural Prioritisation beside ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscore_lab.replay.prepare import prepare_site
from linkscore_research.wanted.quality import ORDERS, SHARES, ParentQuality, outcomes_of, table_of
from linkscore_scoring.features.types import Links, Words
from support.tagged_blog import tagged_blog


@pytest.mark.parametrize(("order", "worth"), [("q_first", 0.2), ("q_min", 0.1), ("q_mean", 0.4)])
def test_a_link_is_worth_what_the_pages_it_stands_on_are(order: str, worth: float) -> None:
    scorer = ORDERS[order]()
    assert isinstance(scorer, ParentQuality)
    links = Links(urls=["http://a.test/x"], keys=["http://a.test/x"])
    for quality in (0.2, 0.9, 0.1):
        scorer._quality = quality
        found = scorer.scores("http://a.test/", links)
    assert found == [pytest.approx(worth)]


def test_no_order_finds_better_pages_than_there_are(tmp_path: Path) -> None:
    with prepare_site([tagged_blog(tmp_path)], workers=1, words=Words.COUNTED | Words.QUALITY) as site:
        outcomes = list(outcomes_of("blog", site, list(ORDERS)))
    best = outcomes[-1].quality
    assert best[0] > 0.0
    for outcome in outcomes:
        assert len(outcome.quality) == len(SHARES)
        assert all(0.0 <= had <= most for had, most in zip(outcome.quality, best, strict=True))
    assert table_of(outcomes).row_count == len(ORDERS) + 1
