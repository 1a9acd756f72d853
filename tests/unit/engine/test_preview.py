"""A page that is only asked about looks as it will when it is taken in, and leaves no trace."""

from __future__ import annotations

from linkscore_scoring.engine.links import preview
from linkscore_scoring.types import UNKNOWN_CLUSTER
from support.recorded_crawls import fetched, model, page

SAME = (
    "key",
    "url",
    "requested",
    "depth",
    "contexts",
    "failed",
    "refetch",
    "cluster",
    "rels",
    "blocks_before",
)
COLUMNS = ("urls", "keys", "link_paths", "sources", "depths", "anchors")


def test_it_looks_as_if_taken_in() -> None:
    crawl = model()
    crawl.apply(1, page("http://h/a", "http://h/b"))
    event = page("http://h/b", "http://h/a", "http://h/c", "http://other/x")
    before = crawl.to_state()
    fetch = crawl.fetch_of(event)
    asked = preview(fetch, crawl.shard("h").model, UNKNOWN_CLUSTER)
    assert crawl.to_state() == before
    taken = crawl.apply(2, event).observation
    for name in SAME:
        assert getattr(asked, name) == getattr(taken, name), name
    for name in COLUMNS:
        assert list(getattr(asked.links, name)) == list(getattr(taken.links, name)), name
    assert asked.links.urls == ["http://h/a", "http://h/c"], "the other host is out of scope"
    assert (asked.depth, len(asked.contexts)) == (1, 1)
    assert (asked.paths, asked.is_copy, asked.long_chars) == (taken.paths, taken.is_copy, taken.long_chars)


def test_a_failed_fetch_has_no_links() -> None:
    crawl = model()
    crawl.apply(1, page("http://h/a"))
    asked = preview(crawl.fetch_of(fetched("http://h/b")), crawl.shard("h").model, UNKNOWN_CLUSTER)
    assert asked.failed
    assert len(asked.links) == 0
