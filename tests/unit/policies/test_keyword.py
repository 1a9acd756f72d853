"""URLs with words of the query first."""

from __future__ import annotations

from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.testing.crawl import visit
from linkscore_scoring.testing.pages import page_of
from linkscore_scoring.wanted import Wanted, WantedQuery


def crawl(*queries: str) -> CrawlModel:
    wanted = Wanted(tuple(map(WantedQuery, queries))) if queries else None
    model = CrawlModel(CrawlConfig("c", PolicyChoice("keyword"), wanted=wanted), ticket_key=b"key")
    links = [(f"http://h/{path}", "html/a[]") for path in ("API/limits", "api", "about")]
    visit(model, "http://h/", page_of("http://h/", links=links))
    return model


def scores(model: CrawlModel) -> list[float]:
    urls = ["http://h/API/limits", "http://h/api", "http://h/about"]
    return CrawlQueries(model).score_links(urls, urls, [b""] * 3, [""] * 3).scores.tolist()


def test_the_score_is_the_share_of_the_words_in_the_url_whatever_their_case() -> None:
    assert scores(crawl("api limits")) == [1.0, 0.5, 0.0]


def test_words_of_all_queries_count_once() -> None:
    assert scores(crawl("api", "API limits")) == [1.0, 0.5, 0.0]


def test_without_a_query_all_links_are_equal() -> None:
    assert scores(crawl()) == [0.0, 0.0, 0.0]


def test_the_reason_names_the_words() -> None:
    model = crawl("api limits")
    (why,) = CrawlQueries(model).explain(["http://h/api"], ["http://h/api"], [b""], [""])
    assert why.explanation.summary == "the URL contains api"
