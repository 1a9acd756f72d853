"""Which URL patterns examples speak for."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.policies.harvest import Harvest
from linkscore_scoring.policies.harvest.arms import ANY, SITE
from linkscore_scoring.policies.harvest.starts import ExampleUrls
from linkscore_scoring.testing.crawl import visit
from linkscore_scoring.testing.pages import page_of
from linkscore_scoring.urls.pattern_tree import UrlPatterns
from support.boards_with_examples import Board, example

H = "http://h"


def is_named(example: str, *urls: str) -> bool:
    """Whether the pattern of the last URL is named, once the tree knows all of them."""
    patterns = UrlPatterns()
    pattern = patterns.insert_all([H + url for url in urls])[-1]
    return ExampleUrls([H + example], patterns).counts((pattern, ANY)) is not None


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
    assert is_named(example, url) is named


def test_a_wildcard_of_the_tree_stands_for_any_value() -> None:
    boards = [f"/board{letter}/x" for letter in "abcdefghijkl"]
    assert is_named("/boardz/y", *boards)


def test_an_example_counts_as_one_pull_that_brought_a_page_like_it() -> None:
    patterns = UrlPatterns()
    pattern = patterns.insert(f"{H}/user/ann")
    named = ExampleUrls([f"{H}/user/bob", f"{H}/user/eve", ""], patterns)
    assert named.counts((pattern, ANY)) == [1.0, 1.0, 0.0]


def test_nodes_that_are_no_pattern_start_with_nothing() -> None:
    patterns = UrlPatterns()
    pattern = patterns.insert(f"{H}/user/ann")
    named = ExampleUrls([f"{H}/user/bob"], patterns)
    assert [named.counts(node) for node in (SITE, (ANY, 5), (pattern, 5), (0, ANY))] == [None] * 4


def test_examples_without_urls_say_nothing() -> None:
    assert not ExampleUrls(["", ""], UrlPatterns())


def test_arms_start_with_what_examples_say_beside_the_experience_of_other_sites() -> None:
    other = Harvest(Harvest.Params(), seed=0)
    board = Board(example("/post/1"))
    board.page("/post/2")
    site, policy = board.shard.model, board.shard.served
    assert isinstance(policy, Harvest)
    pattern = site.patterns.insert(f"{H}/post/2")
    starts = policy.arms.elsewhere
    assert starts is not None
    assert starts((pattern, ANY)) == [1.0, 1.0, 0.0]
    policy.set_experience([other.experience(site)], site)
    both = policy.arms.elsewhere
    assert both is not None
    assert (both((pattern, ANY)), both(SITE)) == ([1.0, 1.0, 0.0], None)


def test_scores_of_urls_that_examples_name_are_the_same_after_a_restart() -> None:
    board = Board(example("/user/ann"))
    links = [
        (f"{H}/{kind}/{name}", "html/body/ul/li/a") for kind in ("user", "tag") for name in "abcdefghijkl"
    ]
    visit(board.model, H + "/", page_of(H + "/", links=links))
    again = CrawlModel(board.model.config, ticket_key=b"key")
    again.crawl_wide.load_state(board.model.crawl_wide.to_state())
    again.sites.load_state(board.model.sites.to_state())
    urls = [f"{H}/user/eve", f"{H}/tag/eve"]
    scored = [
        CrawlQueries(model).score_links(urls, urls, [b""] * 2, [""] * 2).scores.tolist()
        for model in (board.model, again)
    ]
    assert scored[0] == scored[1]
    assert scored[0][0] > scored[0][1]
