"""Which pages a user is asked about: of types nobody told of, those with most waiting links first."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.testing.crawl import page_of, visit
from linkscore_scoring.types import ExampleWanted
from support.boards import POST, Board, board_with, example

LIST = ["html/body/main[list]/a"] * 2
NAV = ["html/body/nav/a"]
KINDS = {"post": 20, "list": 80, "print/a": 40}
FETCHED = {"post": 12, "list": 10, "print/a": 11}


def crawled(*examples: str) -> Board:
    """A crawl that fetched some of 20 posts, 80 lists and 40 printed posts, and the entry page."""
    board = board_with(*[example(path) for path in examples])
    paths = [f"/{kind}/{n}" for kind, count in KINDS.items() for n in range(count)]
    links = [("http://h" + path, "html/body/nav/a") for path in paths]
    visit(board.model, "http://h/", page_of("http://h/", NAV, links=links))
    for kind, count in FETCHED.items():
        for n in range(count):
            board.page(f"/{kind}/{n}", leaves=LIST if kind == "list" else POST, texts=[(f"{kind} {n}", 400)])
    return board


def asked(board: Board, n: int = 5) -> list[ExampleWanted]:
    return [wanted for _, wanted in CrawlQueries(board.model).suggest_examples(n, "h")]


def kinds(found: list[ExampleWanted]) -> list[str]:
    return [wanted.url.split("/")[3] for wanted in found]


def test_one_page_of_each_type_is_asked_about_that_with_most_waiting_links_first() -> None:
    """70 lists, 29 prints and 8 posts wait; value w / (w + 30)."""
    found = asked(crawled())
    assert kinds(found) == ["list", "print", "post", ""]
    assert [wanted.pages for wanted in found] == [10, 11, 12, 1]
    assert [wanted.value for wanted in found] == pytest.approx([70 / 100, 29 / 59, 8 / 38, 0.0])
    assert all(wanted.label is None for wanted in found)
    assert found[0].reason == "nobody told of h/list/# yet; links that wait: 70, pages fetched: 10"
    assert kinds(asked(crawled(), 2)) == ["list", "print"]


def test_a_type_is_never_asked_about_again_once_an_example_or_feedback_told_of_it() -> None:
    board = crawled("/print/a/3")
    assert kinds(asked(board)) == ["list", "post", ""]
    board.feedback("/list/8", 0.0)
    assert kinds(asked(board)) == ["post", ""]
    board.page("/list/77", leaves=LIST)
    board.shard.served.set_examples([example("/post/1")], board.shard.model)
    assert kinds(asked(board)) == ["print", ""]


@pytest.mark.parametrize("fetched", [True, False])
def test_a_page_is_a_copy_only_of_a_canonical_page_that_was_fetched(*, fetched: bool) -> None:
    board = board_with()
    if fetched:
        board.page("/")
    page: PageFeatures = page_of("http://h/index.html", NAV)
    page.canonical_key = "http://h/"
    visit(board.model, "http://h/index.html", page)
    assert [wanted.url for wanted in asked(board)] == ["http://h/" if fetched else "http://h/index.html"]


def test_asking_changes_nothing_and_a_restart_asks_the_same() -> None:
    board, other = crawled("/post/1"), board_with(example("/post/1"))
    before = packed(board.model.to_state())
    found = asked(board)
    assert packed(board.model.to_state()) == before
    other.model.load_state(unpacked(before))
    assert asked(other) == found
    for each in (board, other):
        each.page("/post/19", leaves=POST)
    assert packed(other.model.to_state()) == packed(board.model.to_state())
