"""A crawl whose site was learned: further pages join, states and replayed models agree."""

from __future__ import annotations

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import LearningRequested, ModelActivated, PageFetched
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.hashing import hash64
from linkscore_scoring.site.learning import LearnedSite, LearningConfig, LearningJob, run
from linkscore_scoring.state import packed
from linkscore_scoring.testing.pages import page_of

TITLE, BACK, FAR = "html/body/ul/li/a[title]", "html/body/div/a[back]", "html/body/p/a[far]"
N = 8


def list_page(n: int) -> PageFeatures:
    """Return a list that links to posts n, n + 1 and n + 2 of a ring."""
    posts = [(f"http://h/post-{(n + i) % (2 * N)}", TITLE) for i in range(3)]
    return page_of(f"http://h/list-{n}", links=[*posts, (f"http://h/far-{n}", FAR)])


def post_page(n: int) -> PageFeatures:
    """Return a post that links back to two lists."""
    lists = [(f"http://h/list-{(n + i) % N}", BACK) for i in range(2)]
    far = [(f"http://h/way-{n}-{i}", FAR) for i in range(3)]
    return page_of(
        f"http://h/post-{n}", ["html/body/h1/text()", *["html/body/p/text()"] * 4], links=lists + far
    )


def fetch(crawl: CrawlModel, page: PageFeatures, *, asked: str = "") -> None:
    event = PageFetched("", "h", page.url, asked or page.url, 200, "", b"", 0.0, page)
    crawl.apply(crawl.seq + 1, event)


def crawl_with() -> tuple[CrawlModel, LearningJob]:
    """Return a crawl of all lists and half of the posts, with a learning under way."""
    learning = LearningConfig(sample_pages=2_000)
    crawl = CrawlModel(CrawlConfig("c", PolicyChoice(), learning=learning), ticket_key=b"k")
    for n in range(N):
        fetch(crawl, list_page(n))
    for n in range(0, 2 * N, 2):
        fetch(crawl, post_page(n))
    crawl.apply(crawl.seq + 1, LearningRequested("h"))
    [job] = crawl.take_jobs()
    return crawl, job


def activate(crawl: CrawlModel, learned: LearnedSite) -> None:
    event = ModelActivated("h", learned.built_from_seq, learned.to_state())
    crawl.apply(crawl.seq + 1, event)


def cluster(crawl: CrawlModel, name: str) -> int:
    return crawl.sites["h"].model.cluster_of(hash64(f"http://h/{name}"))


def test_pages_fetched_while_and_after_learning_join_their_template() -> None:
    crawl, job = crawl_with()
    fetch(crawl, post_page(1))
    activate(crawl, run(job))
    fetch(crawl, post_page(3))
    lists, posts = cluster(crawl, "list-0"), cluster(crawl, "post-0")
    assert lists != posts >= 0
    assert [cluster(crawl, f"post-{n}") for n in (1, 3)] == [posts, posts]


def test_a_learned_site_is_the_same_from_its_state_and_learned_again() -> None:
    crawl, job = crawl_with()
    learned = run(job)
    again = LearnedSite.from_state(learned.to_state(), crawl.config.learning)
    assert packed(again.to_state()) == packed(learned.to_state()) == packed(run(job).to_state())
