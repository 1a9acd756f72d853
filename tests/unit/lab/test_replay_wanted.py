"""Replays for what is wanted in words: a query, a tag, text that reads well."""

from __future__ import annotations

from pathlib import Path

import pytest

from linkscore_lab.archives import write_warc
from linkscore_lab.datasets.relevance import TAGS, carried_tags, choose_relevance
from linkscore_lab.replay import run
from linkscore_lab.replay.prepare import SiteSource

HOME = "http://blog.test/"
TOPICS = ("kayaks", "cameras", "bread", "maps")
POSTS = 12


def blog() -> dict[str, str]:
    """A blog of four topics: a page of each lists its posts, whose links say nothing of it."""
    pages = {HOME: "".join(f"<a href='/tag/{topic}'>{topic}</a> " for topic in TOPICS)}
    for topic in TOPICS:
        posts = "".join(f"<li><a href='/{topic[0]}{n}'>read on</a></li>" for n in range(POSTS))
        pages[f"{HOME}tag/{topic}"] = f"<ul>{posts}</ul>"
        for n in range(POSTS):
            pages[f"{HOME}{topic[0]}{n}"] = (
                f"<title>All about {topic}</title><p>Part {n} of what one should know about {topic}.</p>"
                f"<a rel='tag' href='/tag/{topic}'>{topic}</a>"
            )
    return pages


def tagged_blog(folder: Path) -> SiteSource:
    """Store the blog and its labels in a folder."""
    labels = folder / "blog.labels.tsv"
    pages = blog()
    rows = [f"{url}\t{'post' if '<title>' in body else 'list'}" for url, body in pages.items()]
    labels.write_text("url\tpage_type\n" + "\n".join(rows) + "\n")
    return SiteSource([write_warc(folder / "blog.warc.gz", pages)], labels)


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
