"""Links that flip pages are told as such under every policy, and a policy's own types win."""

from __future__ import annotations

from crawls import fetched, model

from linkscore_scoring.features.html import Extractor
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.site.flips.kinds import NEXT, PAGE
from linkscore_scoring.site.flips.page import with_flips
from linkscore_scoring.site.url_rules import OTHER, PAGE_FLIP, THREAD

PAGE_1 = "http://h/list"
HTML = b"""<html><body><a href="/t/1">A thread of note</a>
<a href="?page=2">2</a> <a href="?page=3">3</a> <a href="?page=2">Next</a> <a href="http://b/">2</a></body></html>"""


def features() -> PageFeatures:
    return Extractor().extract(HTML, url=PAGE_1, content_type="text/html")


def test_the_answer_names_page_flips_whatever_the_policy():
    crawl = model()
    outcome = crawl.apply(1, fetched(PAGE_1, features()))
    assert outcome.links.url_types == [0, PAGE_FLIP, PAGE_FLIP, PAGE_FLIP, 0]
    assert crawl.score_page(fetched(PAGE_1, features())).url_types == outcome.links.url_types


def test_policies_see_the_kind_of_flip_of_every_link_that_belongs_to_the_crawl():
    observation = model().apply(1, fetched(PAGE_1, features())).observation
    assert (observation.flips, len(observation.links)) == ([0, PAGE, PAGE, NEXT], 4)


def test_a_page_without_flips_tells_no_types():
    page = Extractor().extract(b"<a href=/x>x</a>", url=PAGE_1, content_type="text/html")
    assert model().apply(1, fetched(PAGE_1, page)).links.url_types is None


def test_types_of_the_policy_win_where_it_tells_any():
    assert with_flips([THREAD, 0, OTHER, 0], [PAGE, PAGE, 0, 0]) == [THREAD, PAGE_FLIP, OTHER, 0]
    assert with_flips(None, [0, 0]) is None
