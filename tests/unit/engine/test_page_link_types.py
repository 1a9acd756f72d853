"""Links that turn pages are told as such under every policy, and a policy's own types win."""

from __future__ import annotations

from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.engine.results import PageOutcome
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.pagination.anchors import NEXT, PAGE
from linkscore_scoring.pagination.page_links import with_page_links
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.types import OTHER, PAGE_FLIP, THREAD
from support.recorded_crawls import fetched, model

PAGE_1 = "http://h/list"
HTML = b"""<html><body><a href="/t/1">A thread of note</a>
<a href="?page=2">2</a> <a href="?page=3">3</a> <a href="?page=2">Next</a> <a href="http://b/">2</a></body></html>"""


def features() -> PageFeatures:
    return Extractor().extract(HTML, url=PAGE_1, content_type="text/html")


def test_the_answer_names_page_page_links_whatever_the_policy():
    crawl = model()
    outcome = crawl.apply(1, fetched(PAGE_1, features()))
    assert outcome.links.url_types == [0, PAGE_FLIP, PAGE_FLIP, PAGE_FLIP, 0]
    assert CrawlQueries(crawl).score_page(fetched(PAGE_1, features())).url_types == outcome.links.url_types


def test_policies_see_the_kind_of_page_link_of_every_link_that_belongs_to_the_crawl():
    observation = model().apply(1, fetched(PAGE_1, features())).observation
    assert (observation.page_links, len(observation.links)) == ([0, PAGE, PAGE, NEXT], 4)


def test_a_page_without_page_links_tells_no_types():
    page = Extractor().extract(b"<a href=/x>x</a>", url=PAGE_1, content_type="text/html")
    assert model().apply(1, fetched(PAGE_1, page)).links.url_types is None


def ranked_list(number: int, tag: str) -> PageFeatures:
    """Return a page of numbers 1 to 4, and of twenty elements."""
    links = "".join(f'<a href="/list?page={n}">{n}</a> ' for n in range(1, 5))
    body = f"<html><body><nav>{links}</nav>{f'<{tag}>x</{tag}>' * 20}</body></html>"
    return Extractor().extract(body.encode(), url=f"{PAGE_1}?page={number}", content_type="text/html")


def listed(crawl: CrawlModel, *tags: str) -> list[PageOutcome]:
    pages = [ranked_list(n, tag) for n, tag in enumerate(tags, start=1)]
    return [crawl.apply(n, fetched(page.url, page)) for n, page in enumerate(pages, start=1)]


def test_links_whose_destinations_look_otherwise_are_no_page_links_any_more():
    crawl = model()
    *_, last = listed(crawl, "p", "dl", "pre")
    assert (last.links.url_types, last.observation.page_links) == (None, [0] * 4)
    assert CrawlQueries(crawl).score_page(fetched(f"{PAGE_1}?page=1", ranked_list(1, "p"))).url_types is None
    assert listed(model(), "p", "p", "p")[-1].links.url_types == [PAGE_FLIP] * 4


def test_what_destinations_said_outlasts_a_restart():
    crawl, again = model(), model()
    listed(crawl, "p", "dl", "pre")
    again.load_state(unpacked(packed(crawl.to_state())))
    assert listed(again, "p")[0].links.url_types is None


def test_types_of_the_policy_win_where_it_tells_any():
    assert with_page_links([THREAD, 0, OTHER, 0], [PAGE, PAGE, 0, 0]) == [THREAD, PAGE_FLIP, OTHER, 0]
    assert with_page_links(None, [0, 0]) is None
