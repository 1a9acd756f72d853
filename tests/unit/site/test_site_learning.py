"""A site learned from hand-made pages: eq. 5 by hand, ids that survive, pages that came meanwhile."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import LearningRequested, ModelActivated, PageFetched
from linkscore_scoring.hashing import hash64
from linkscore_scoring.site.learning import LearnedSite, LearningConfig, LearningJob, run
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.testing.crawl import page_of

TITLE, NEXT = "html/body/ul/li/a[title]", "html/body/div/a[next]"


class Site:
    """Six lists, each linking to the next and to three posts, of which two are fetched."""

    def __init__(self, *, paper: bool = False) -> None:
        learning = LearningConfig(sample_pages=2_000, paper=paper)
        self.crawl = CrawlModel(CrawlConfig("c", PolicyChoice(), learning=learning), ticket_key=b"k")
        for n in range(6):
            posts = [(f"http://h/post-{n}-{i}", TITLE) for i in range(3)]
            self.fetch(f"list-{n}", [*posts, (f"http://h/list-{n + 1}", NEXT)])
        for n in range(6):
            self.post(f"post-{n}-0")
            self.post(f"post-{n}-1")

    @property
    def model(self) -> SiteModel:
        return self.crawl.sites["h"].model

    def fetch(self, name: str, links: list[tuple[str, str]], leaves: tuple[str, ...] = ()) -> None:
        url = f"http://h/{name}"
        event = PageFetched("", "h", url, url, 200, "", b"", 0.0, page_of(url, leaves, links=links))
        self.crawl.apply(self.crawl.seq + 1, event)

    def post(self, name: str) -> None:
        self.fetch(name, [], ("html/body/h1/text()", *["html/body/p/text()"] * 3))

    def job(self) -> LearningJob:
        self.crawl.apply(self.crawl.seq + 1, LearningRequested("h"))
        [job] = self.crawl.take_jobs()
        return job

    def activate(self, learned: LearnedSite) -> None:
        event = ModelActivated("h", learned.built_from_seq, learned.to_state())
        self.crawl.apply(self.crawl.seq + 1, event)

    def learned(self) -> Site:
        self.activate(run(self.job()))
        return self

    def cluster(self, name: str) -> int:
        return self.model.cluster_of(hash64(f"http://h/{name}"))


@pytest.mark.parametrize("paper", [False, True])
def test_navigation_counts_are_those_of_eq_5(paper: bool) -> None:
    """18 links under TITLE, 12 of them fetched, all posts; 6 under NEXT, 5 fetched, all lists."""
    site = Site(paper=paper).learned()
    lists, posts = site.cluster("list-0"), site.cluster("post-0-0")
    assert lists != posts
    rows = {entry.link_path: entry for entry in site.model.navigation.entries() if entry.source == lists}
    title, following = rows[hash64(TITLE)], rows[hash64(NEXT)]
    assert (title.links, title.followed, title.destinations) == (18, 12.0, {posts: 1.0})
    assert (following.links, following.followed, following.destinations) == (6, 5.0, {lists: 1.0})


def test_pages_that_came_while_learning_are_caught_up() -> None:
    site = Site()
    job = site.job()
    site.post("post-0-2")
    site.activate(run(job))
    lists, posts = site.cluster("list-0"), site.cluster("post-0-0")
    assert site.cluster("post-0-2") == posts
    assert site.model.crawled[posts] == 13
    [row] = [e for e in site.model.navigation.entries() if (e.source, e.link_path) == (lists, hash64(TITLE))]
    assert row.followed == 13.0
