"""Which buckets come next while fetches are under way, and how many links of each."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.testing.crawl import page_of, visit


def lists_and_posts() -> tuple[CrawlModel, list[str]]:
    """Return a crawl of a front page that shows many links at two tag paths, and their buckets."""
    crawl = CrawlModel(CrawlConfig("c"), ticket_key=b"key")
    links = [(f"http://h/{kind}/{n}", f"html/{kind}/a") for kind in ("list", "post") for n in range(40)]
    links = visit(crawl, "http://h/", page_of("http://h/", links=links)).links
    return crawl, list(links.bucket_names)


def test_what_nobody_knows_is_spread_over() -> None:
    crawl, names = lists_and_posts()
    assert CrawlQueries(crawl).plan_fetches(names, 8, fill=True).takes.tolist() == [4, 4]


@pytest.mark.parametrize(
    ("posts", "n", "fill", "lists"),
    [(0, 8, False, 8), (1, 7, False, 0), (1, 7, True, 7)],
)
def test_what_is_worth_less_than_what_is_under_way_waits_for_its_answers(
    posts: int, n: int, fill: bool, lists: int
) -> None:
    """No post is left: lists wait for one under way, and fill all places without."""
    crawl, names = lists_and_posts()
    for each in range(20):
        for kind, texts in (("post", [(f"post {each}", 4_000)]), ("list", [])):
            url = f"http://h/{kind}/{each}"
            visit(crawl, url, page_of(url, texts=texts))
    under_way = {names[1]: posts} if posts else {}
    plan = CrawlQueries(crawl).plan_fetches(names, n, waiting=[20, 0], in_flight=under_way, fill=fill)
    assert plan.takes.tolist() == [lists, 0]


def test_a_new_site_gets_few_fetches_at_a_time_unless_all_places_are_to_be_filled() -> None:
    crawl, names = lists_and_posts()
    queries = CrawlQueries(crawl)
    assert queries.plan_fetches(names, 16).takes.sum() == 1
    assert queries.plan_fetches(names, 16, in_flight={names[0]: 1}).takes.sum() == 0
    assert queries.plan_fetches(names, 16, in_flight={names[0]: 1}, fill=True).takes.sum() == 16
