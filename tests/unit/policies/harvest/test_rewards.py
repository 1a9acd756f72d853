"""Feedback, examples and text: who decides, and how much each counts."""

from __future__ import annotations

import pytest

from linkscore_scoring.policies.harvest.tables import SITE, Source
from linkscore_scoring.testing.pages import trie_of
from linkscore_scoring.types import ExamplePage
from support.boards_with_examples import POST, Board, example
from support.harvested import harvest_of, worth_of

LIST = ["html/body/main[list]/a"]


def share(board: Board) -> float:
    """Return how far labels decide."""
    return harvest_of(board).tables.share


def test_without_labels_text_counts_in_full() -> None:
    board = Board()
    board.page("/", texts=[("text", 400)])
    assert (worth_of(board, "/").source, worth_of(board, "/").weight) == (Source.TEXT, 1.0)


def test_a_page_judged_by_text_counts_less_once_pages_were_labelled() -> None:
    """Two pages labelled, both wanted: 2 / (2 + 2)."""
    board = Board()
    for path in ("/a", "/b"):
        board.page(path)
        board.feedback(path, 1.0)
    board.page("/c", texts=[("text", 400)])
    assert worth_of(board, "/c").weight == pytest.approx(0.5)


def test_feedback_makes_it_a_whole_pull_of_the_reward_told() -> None:
    board = Board()
    for path in ("/a", "/b", "/c"):
        board.page(path, texts=[(path, 400)])
    for path in ("/a", "/b", "/c"):
        board.feedback(path, 1.0)
    policy = harvest_of(board)
    assert policy.tables.nodes["n"][SITE] == pytest.approx(3.0)
    [mean] = policy.expected_rewards([(8, 9)], board.shard.model)
    assert mean == pytest.approx((3.0 + 2 * 0.3) / (3 + 2)), "of an arm nobody knows"


def test_with_examples_likeness_decides_and_feedback_overrules_it() -> None:
    board = Board(example("/post/1"))
    board.page("/post/2", leaves=POST)
    board.page("/list", leaves=["html/body/main[list]/a"], texts=[("rich", 4_000)])
    assert (worth_of(board, "/post/2").source, worth_of(board, "/post/2").reward) == (Source.LIKENESS, 1.0)
    board.feedback("/list", 1.0)
    assert (worth_of(board, "/list").source, worth_of(board, "/list").reward) == (Source.FEEDBACK, 1.0)


@pytest.mark.parametrize("n", [1, 3])
def test_the_more_examples_the_less_the_text_of_pages_like_none_counts(n: int) -> None:
    """4,000 / 4,400 x 2 / (2 + n): one example has not said that all else is not wanted."""
    board = Board(*[example(f"/post/{i}") for i in range(n)])
    board.page("/list", leaves=["html/body/main[list]/a"], texts=[("rich", 4_000)])
    assert worth_of(board, "/list").label == 0.0
    assert worth_of(board, "/list").reward == pytest.approx(4_000 / 4_400 * 2 / (2 + n))


@pytest.mark.parametrize(("found", "left"), [(0, 2 / 3), (7, 2 / 10), (40, 0.1)])
def test_text_of_pages_like_no_example_counts_less_once_wanted_ones_are_found(
    found: int, left: float
) -> None:
    """2 / (2 + an example + pages found), a tenth at least: else guides come before the lists of jobs."""
    board = Board(example("/post/1"))
    for n in range(found):
        board.page(f"/post/{n + 100}", leaves=POST)
    board.page("/guide", leaves=LIST, texts=[("rich", 4_000)])
    assert worth_of(board, "/guide").label == 0.0
    assert worth_of(board, "/guide").reward == pytest.approx(4_000 / 4_400 * left)


def test_an_example_of_a_page_fetched_before_counts_at_once_by_its_url_alone() -> None:
    board = Board()
    board.page("/post/1", leaves=POST)
    board.page("/post/2", leaves=POST)
    board.page("/list/1", leaves=LIST, texts=[("rich", 4_000)])
    given = ExamplePage("http://h/post/1", "http://h/post/1")
    board.shard.served.set_examples([given], board.shard.model)  # type: ignore[attr-defined]
    assert worth_of(board, "/post/2").reward == 1.0
    assert worth_of(board, "/list/1").label < 0.5


def test_an_example_whose_page_nobody_fetched_raises_pages_of_its_shape_alone() -> None:
    board, plain = Board(), Board()
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


def test_a_few_pages_that_are_not_wanted_hardly_make_text_count_less() -> None:
    board = Board()
    for n in range(78):
        board.page(f"/list/{n}", leaves=LIST)
    for n in range(8):
        board.feedback(f"/list/{n}", 0.0)
    assert share(board) == pytest.approx(8 / 80)
    board.page("/post/1", leaves=POST, texts=[("text", 400)])
    assert worth_of(board, "/post/1").reward == pytest.approx(0.5, abs=0.1)


def test_feedback_for_every_page_decides_though_nothing_is_wanted() -> None:
    board = Board()
    for n in range(78):
        board.page(f"/list/{n}", leaves=LIST)
        board.feedback(f"/list/{n}", 0.0)
    assert share(board) == pytest.approx(78 / 80)


def test_a_page_that_is_not_wanted_says_that_pages_like_it_are_not() -> None:
    board = Board()
    for n in range(4):
        board.page(f"/list/{n}", leaves=LIST, texts=[(f"rich {n}", 4_000)])
    assert worth_of(board, "/list/1").reward > 0.5
    board.feedback("/list/0", 0.0)
    assert worth_of(board, "/list/1").reward == pytest.approx(0.0)
    board.page("/list/4", leaves=LIST, texts=[("rich 4", 4_000)])
    assert worth_of(board, "/list/4").reward == pytest.approx(0.0)


def test_pages_known_to_be_wanted_are_counted_once() -> None:
    """An example, and two pages: one is like it and confirmed, the other turns out not to be wanted.

    Feedback comes for none, one and both of the two pages.
    """
    board = Board(example("/post/1"))
    for n in (2, 3):
        board.page(f"/post/{n}", leaves=POST)
    assert share(board) == pytest.approx(3 / 5)
    board.feedback("/post/2", 1.0)
    assert share(board) == pytest.approx(3 / 5)
    board.feedback("/post/3", 0.0)
    assert share(board) == pytest.approx(2 / 4)


def test_examples_of_another_site_say_nothing_here() -> None:
    board = Board(example("/post/1", host="other"))
    board.page("/post/2", leaves=POST)
    assert worth_of(board, "/post/2").source is Source.TEXT


def test_pages_of_the_shape_of_an_example_are_no_background_while_few_are_alike() -> None:
    """Twenty pages with the menu of the example and other bodies: as background they take its weight."""
    unlike = ["html/body/nav/a", *(f"html/body/main[sold]/div[part{part}]/text()" for part in "abcdef")]

    def layout_label(path: str, alike: int = 0) -> float:
        board = Board(example("/post/1"))
        for n in range(alike):
            board.page(f"/post/{n + 100}", leaves=POST)
        for n in range(2, 22):
            board.page(path.format(n), leaves=unlike)
        policy = harvest_of(board)
        return policy.likeness.label("", trie_of(unlike), board.shard.model.patterns)[1]

    assert layout_label("/post/{}") > 2.0 * layout_label("/sold?item={}")
    assert layout_label("/post/{}") > 2.0 * layout_label("/post/{}", alike=20)
