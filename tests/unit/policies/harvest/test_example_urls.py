"""Which URL patterns examples speak for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.policies.harvest.tables import ANY, Tables, Worked
from linkscore_scoring.policies.harvest.told import Starts
from linkscore_scoring.testing.crawl import page_of, visit
from linkscore_scoring.types import ExamplePage
from linkscore_scoring.urls.pattern_tree import UrlPatterns
from support.boards import POST, board_with, example

H = "http://h"


def started(example: str, *urls: str) -> list[float]:
    """Return pulls, rewards and hub yields that the pattern of the last URL starts with."""
    patterns, tables = UrlPatterns(), Tables()
    pattern = patterns.insert_all([H + url for url in urls])[-1]
    row = tables.row((pattern, ANY))
    starts = Starts()
    starts.set_examples([H + example if example else ""], patterns)
    return starts(tables, Worked(tables))[:, row].tolist()


@pytest.mark.parametrize(
    ("example", "url", "named"),
    [
        ("/user/ann", "/user/bob", True),
        ("/item/17", "/item/4", True),
        ("/show?id=17", "/show?id=4", True),
        ("/a/one.html", "/a/two.html", True),
        ("/user/ann", "/tag/ann", False),  # only the last name is that of a page
        ("/user/ann", "/user/bob/wall", False),
        ("/item/17", "/item/ann", False),  # a number is no name
        ("/a/one.html", "/a/two.pdf", False),
        ("/view.php?id=1", "/list.php?id=1", False),  # before a query stands the name of a script
        ("/view.php?id=1", "/view.php?day=1", False),
    ],
)
def test_a_pattern_is_named_by_an_example_that_differs_in_its_last_name(
    example: str, url: str, named: bool
) -> None:
    assert (started(example, url) == [1.0, 1.0, 0.0]) is named


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_link_to_an_example_comes_first_whatever_its_place_and_takes_no_turn_of_others(scheme: str) -> None:
    given = f"{scheme}://h/old/news/7"
    board = board_with(replace(example("/old/news/7"), url=given, key=given))
    links = [(f"{H}/old/news/{n}", "html/body/footer/a") for n in range(9)]
    visit(board.model, H + "/", page_of(H + "/", links=links))
    queries, urls = CrawlQueries(board.model), [url for url, _ in links]
    scored = queries.score_links(urls, urls, [b""] * 9, [""] * 9)
    assert [n for n, score in enumerate(scored.scores.tolist()) if score > 0.9] == [7]
    first, others = scored.bucket_names[scored.buckets[7]], scored.bucket_names[scored.buckets[0]]
    assert queries.plan_fetches([others, first], 0).order().tolist() == [1, 0]
    for url in urls[:6]:
        visit(board.model, url, page_of(url, texts=[(url, 600)]))
    assert queries.plan_fetches([others], 2, in_flight={first: 1}).takes.tolist() == [1]
    assert "example" in queries.explain([urls[7]], [urls[7]], [b""], [""])[0].explanation.summary


def test_an_example_that_redirects_is_met_where_it_leads() -> None:
    board = board_with(ExamplePage(f"{H}/old/7", f"{H}/old/7", "post"))
    visit(board.model, H + "/", page_of(H + "/", links=[(f"{H}/old/{n}", "html/body/a") for n in range(9)]))
    for n in (7, 8):
        visit(board.model, f"{H}/old/{n}", page_of(f"{H}/new/{n}/", POST))
    assert board.shard.served.latest_rewards(1, board.shard.model) == [1.0]
