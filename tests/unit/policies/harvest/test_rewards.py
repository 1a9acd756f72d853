"""Feedback, examples and text: who decides, and how much each counts."""

from __future__ import annotations

import pytest

from linkscore_scoring.policies.harvest.tables import Source, Worked
from linkscore_scoring.testing.crawl import trie_of
from linkscore_scoring.types import ExamplePage
from support.boards import POST, Board, board_with, example
from support.harvested import harvest_of, worth_of

LIST = ["html/body/main[list]/a"]


def share(board: Board) -> float:
    """Return how far labels decide."""
    return harvest_of(board).tables.share


def test_a_page_nearer_to_one_that_is_not_wanted_than_to_an_example_is_not_like_it() -> None:
    board, members = board_with(example("/post/1")), [*POST, "html/body/main[post]/table/td/a"]
    for n, leaves in ((2, members), (3, members), (4, POST)):
        board.page(f"/post/{n}", leaves=leaves)
    assert [worth_of(board, f"/post/{n}").reward for n in (2, 3, 4)] == [1.0, 1.0, 1.0]
    board.feedback("/post/2", 0.0)
    assert [worth_of(board, f"/post/{n}").reward for n in (2, 3, 4)] == [0.0, 0.0, 1.0]


def test_examples_taken_back_leave_no_page_labelled() -> None:
    board = board_with(example("/post/1"))
    for n in range(300):
        board.page(f"/post/{n + 2}", leaves=POST)
    harvest_of(board).set_examples([], board.shard.model)
    assert {worth_of(board, f"/post/{n + 2}").source for n in range(300)} == {Source.TEXT}
    assert Worked(harvest_of(board).tables).share == 0.0


@pytest.mark.parametrize(("given", "found", "left"), [(1, 0, 2 / 3), (1, 40, 2 / 6), (3, 40, 2 / 14)])
def test_pages_like_an_example_say_little_more_of_other_kinds_than_it_does(
    given: int, found: int, left: float
) -> None:
    """Text of these counts 2 / (2 + examples + thrice as many): jobs before guides, all before buttons."""
    board = board_with(*(example(f"/post/{n}") for n in range(given)))
    for n in range(found):
        board.page(f"/post/{n + 100}", leaves=POST)
    board.page("/guide", leaves=LIST, texts=[("rich", 4_000)])
    assert worth_of(board, "/guide").label == 0.0
    assert worth_of(board, "/guide").reward == pytest.approx(4_000 / 4_400 * left)


def test_sections_of_a_site_in_the_layout_of_an_example_keep_their_text() -> None:
    board = board_with(example("/2014/post"))
    for n in range(9):
        board.page(f"/2014/{n}", leaves=POST)
    board.page("/blog/2013/post", leaves=POST, texts=[("rich", 4_000)])
    board.page("/blog/2013/list", leaves=LIST, texts=[("other", 4_000)])
    near, far = (worth_of(board, path).reward for path in ("/blog/2013/post", "/blog/2013/list"))
    assert near == pytest.approx(4_000 / 4_400)
    assert far < near


@pytest.mark.parametrize(
    "given", [[ExamplePage(paths=trie_of(POST))], [example("/2014/post"), example("/blog/2014/post")]]
)
def test_where_layout_alone_tells_a_copy_is_like_none_and_a_page_without_text_is_not(
    given: list[ExamplePage],
) -> None:
    board, pages = board_with(*given), ("/a/b/post/1", "/a/b/copy/1", "/a/b/picture/1")
    for path in pages[:2]:
        board.page(path, leaves=POST, texts=[("rich", 4_000)])
    board.page(pages[2], leaves=POST)
    assert [worth_of(board, path).reward for path in pages] == pytest.approx([1.0, 0.0, 1.0])


def test_an_alias_that_names_the_page_it_copies_is_like_none_and_another_with_that_text_is_not() -> None:
    board = board_with(example("/post/1"))
    for n, named in ((2, ""), (3, "http://h/post/2"), (4, "")):
        board.page(f"/post/{n}", leaves=POST, texts=[("rich", 4_000)], canonical=named)
    assert [worth_of(board, f"/post/{n}").reward for n in (2, 3, 4)] == [1.0, 0.0, 1.0]


def test_an_example_of_a_page_fetched_before_counts_at_once_by_its_url_alone() -> None:
    board = board_with()
    board.page("/post/1", leaves=POST)
    board.page("/post/2", leaves=POST)
    board.page("/list/1", leaves=LIST, texts=[("rich", 4_000)])
    given = ExamplePage("http://h/post/1", "http://h/post/1")
    board.shard.served.set_examples([given], board.shard.model)  # type: ignore[attr-defined]
    assert worth_of(board, "/post/2").reward == 1.0
    assert worth_of(board, "/list/1").label < 0.5


def test_an_example_whose_page_nobody_fetched_raises_pages_of_its_shape_alone() -> None:
    board, plain = board_with(), board_with()
    for each in (board, plain):
        each.page("/post/0", leaves=POST, texts=[("text 0", 400)])
    given = ExamplePage("http://h/post/9", "http://h/post/9")
    board.shard.served.set_examples([given], board.shard.model)  # type: ignore[attr-defined]
    for each in (board, plain):
        each.page("/post/1", leaves=POST, texts=[("text", 400)])
        each.page("/list/of/1", leaves=LIST, texts=[("list", 400)])
    assert worth_of(board, "/list/of/1") == worth_of(plain, "/list/of/1")
    assert worth_of(board, "/post/0").label == worth_of(board, "/post/1").label == 0.2
    assert share(board) == 0.0


@pytest.mark.parametrize(("every", "least", "most"), [(1, 0.2, 0.3), (3, 0.75, 0.9)])
def test_where_all_wanted_pages_are_reported_silence_is_a_no_and_else_it_says_little(
    every: int, least: float, most: float
) -> None:
    board, untold = board_with(), board_with()
    links = [*((f"/post/{n}", "html/body/ul/li/a") for n in range(12)), ("/about", "html/body/nav/a")]
    for each in (board, untold):
        each.page("/", links)
        for n in range(12):
            each.page(f"/post/{n}", texts=[(f"post {n}", 4_000)])
            if each is board and n % every == 0:
                each.feedback(f"/post/{n}", 1.0)
        each.page("/about", texts=[("about", 4_000)])
    left = worth_of(board, "/about").reward / worth_of(untold, "/about").reward
    assert least < left < most


def test_what_searches_shall_not_list_keeps_its_worth_where_that_is_nearly_all() -> None:
    board = board_with()
    for n in range(23):
        board.page(f"/post/{n}", texts=[(f"post {n}", 400)], noindex=n > 0)
    assert worth_of(board, "/post/2").reward == 0.5


def test_examples_of_another_site_say_nothing_here() -> None:
    board = board_with(example("/post/1", host="other"))
    board.page("/post/2", leaves=POST)
    assert worth_of(board, "/post/2").source is Source.TEXT
