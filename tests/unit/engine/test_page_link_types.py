"""Links that turn pages are told as such under every policy."""

from __future__ import annotations

from linkscore_scoring.features.html import Extractor
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.types import PAGE_FLIP
from support.recorded_crawls import fetched, model

PAGE_1 = "http://h/list"
HTML = b"""<html><body><a href="/t/1">A thread of note</a>
<a href="?page=2">2</a> <a href="?page=3">3</a> <a href="?page=2">Next</a> <a href="http://b/">2</a></body></html>"""


def features() -> PageFeatures:
    return Extractor().extract(HTML, url=PAGE_1, content_type="text/html")


def test_the_answer_names_page_links_whatever_the_policy():
    crawl = model()
    outcome = crawl.apply(1, fetched(PAGE_1, features()))
    assert outcome.links.url_types == [0, PAGE_FLIP, PAGE_FLIP, PAGE_FLIP, 0]
    assert crawl.links_again(fetched(PAGE_1, features())).url_types == outcome.links.url_types
