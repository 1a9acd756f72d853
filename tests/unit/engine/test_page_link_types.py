"""Links that turn pages are told as such where the policy reads layouts."""

from __future__ import annotations

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.features.html import Extractor
from linkscore_scoring.types import PAGE_FLIP
from support.recorded_crawls import fetched, model

HTML = b"""<html><body><a href="/t/1">A thread of note</a>
<a href="?page=2">2</a> <a href="?page=3">3</a> <a href="?page=2">Next</a> <a href="http://b/">2</a></body></html>"""
PAGE_1 = fetched("http://h/list", Extractor().extract(HTML, url="http://h/list", content_type="text/html"))


def test_the_answer_names_page_links_where_the_policy_reads_layouts():
    assert model().apply(1, PAGE_1).links.url_types is None
    crawl = model(policy=PolicyChoice("focus"))
    outcome = crawl.apply(1, PAGE_1)
    assert outcome.links.url_types == [0, PAGE_FLIP, PAGE_FLIP, PAGE_FLIP, 0]
    assert crawl.answer_again(PAGE_1).links.url_types == outcome.links.url_types
