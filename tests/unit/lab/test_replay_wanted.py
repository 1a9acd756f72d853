"""Replays for what is wanted in words: a query, a tag, an embedding, text that reads well."""

from __future__ import annotations

import pytest

from linkscore_lab.datasets.relevance import TAGS, carried_tags, choose_relevance
from linkscore_lab.replay import run
from linkscore_lab.replay.prepare import SiteSource
from support.tagged_blog import POSTS, tagged_blog


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> SiteSource:
    return tagged_blog(tmp_path_factory.mktemp("blog"))


def test_a_replay_takes_a_query_and_a_tag(sources: SiteSource) -> None:
    relevance = choose_relevance(tag="maps", types=["post"])
    rows = run(
        sources.archives,
        ["topic", "keyword", "breadth_first"],
        relevance=relevance,
        labels=sources.labels,
        budget="20",
        wanted="maps",
    )
    found = {row.policy: row.curve[-1] for row in rows}
    assert found["topic"] == POSTS
    assert found["breadth_first"] < POSTS


def test_tags_categories_and_sections_are_carried() -> None:
    catlinks = (
        b"<div id=catlinks><a href='/c'>Ships of  war</a></div><a class='qa-tag-link' href='/t'>c++</a>"
    )
    assert carried_tags("http://a/x", catlinks) == {"Ships of war", "c++"}
    assert carried_tags("http://a/en/cpp/atomic/load.html", b"", ["section"]) == {"atomic"}
    assert carried_tags("http://a/x", catlinks, [TAGS]) == {"c++"}
