"""Which pages a user is asked about first."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.errors import NotFound
from linkscore_scoring.state import packed, unpacked
from linkscore_scoring.testing.crawl import visit
from linkscore_scoring.testing.pages import page_of
from linkscore_scoring.types import ExampleWanted
from support.boards_with_examples import POST, Board, example
from support.harvested import harvest_of

LIST = ["html/body/main[list]/a"] * 2
NAV = ["html/body/nav/a"]
KINDS = {"post": 80, "list": 10, "print/a": 11}


def crawled(*examples: str) -> Board:
    """A crawl of 12 posts of 400 characters, 10 lists without text, 11 printed posts, and the entry page."""
    board = Board(*[example(path) for path in examples])
    paths = [f"/{kind}/{n}" for kind, count in KINDS.items() for n in range(count)]
    links = [("http://h" + path, "html/body/nav/a") for path in paths]
    visit(board.model, "http://h/", page_of("http://h/", NAV, links=links))
    for n in range(12):
        board.page(f"/post/{n}", leaves=POST, texts=[(f"post {n}", 400)])
    for n in range(10):
        board.page(f"/list/{n}", leaves=LIST)
    for n in range(11):
        board.page(f"/print/a/{n}", leaves=POST, texts=[(f"other {n}", 100)])
    return board


HALF = 400 / 8
POSTS, PRINTS = 12 * 400 / (400 + HALF), 11 * 100 / (100 + HALF)


def asked(board: Board, n: int = 5) -> list[ExampleWanted]:
    return [wanted for _, wanted in CrawlQueries(board.model).suggest_examples(n, "h")]


def kinds(found: list[ExampleWanted]) -> list[str]:
    return [wanted.url.split("/")[3] for wanted in found]


def test_without_examples_one_page_of_each_type_is_asked_about_most_text_first() -> None:
    """12 posts of 400 characters, 11 prints of 100: an eighth of 400 is worth .5; value t / (t + 5)."""
    found = asked(crawled())
    assert kinds(found) == ["post", "print", "list", ""]
    assert [wanted.pages for wanted in found] == [12, 11, 10, 1]
    assert found[0].value == pytest.approx(POSTS / (POSTS + 5))
    assert found[1].value == pytest.approx(PRINTS / (PRINTS + 5))
    assert all(wanted.label is None for wanted in found)
    assert "12 pages of" in found[0].reason


def test_no_more_pages_are_asked_about_than_wanted() -> None:
    assert kinds(asked(crawled(), 2)) == ["post", "print"]


def test_with_examples_a_layout_whose_url_has_another_shape_is_asked_about_first() -> None:
    """Prints look like posts for sure: uncertainty 1, value 1 + 11 / (11 + 5)."""
    found = asked(crawled("/post/1"))
    assert kinds(found)[0] == "print"
    assert found[0].value == pytest.approx(1 + 11 / 16)
    assert (found[0].label, found[0].pages) == (0.0, 11)
    assert "another shape" in found[0].reason


def test_types_that_an_example_names_are_not_asked_about_again() -> None:
    assert "post" not in kinds(asked(crawled("/post/1")))
    assert kinds(asked(crawled("/post/1", "/print/a/3"))) == ["", "list"]


def relabel(board: Board, kind: str, label: float, layout: float, n: int) -> None:
    """Let the last n pages of a kind be so like an example."""
    tables = harvest_of(board).tables
    pages = [page for page, url in enumerate(tables.urls) if f"/{kind}/" in url][-n:]
    tables.pages["label"][pages], tables.pages["layout"][pages] = label, layout
    tables.changed()


def test_a_page_that_is_half_like_an_example_is_asked_about() -> None:
    """Uncertainty .9 of one of eleven, beside the example itself: 12 x .9 / 11."""
    board = crawled("/post/1")
    relabel(board, "post", 0.45, 0.45, n=1)
    found = asked(board)
    assert found[0].url.startswith("http://h/print/")
    [post] = [wanted for wanted in found if "/post/" in wanted.url]
    assert (post.url, post.label) == ("http://h/post/11", 0.45)
    assert post.value == pytest.approx(1 + 0.9 * (10.8 / 11) / (5 + 10.8 / 11))
    assert post.reason.startswith("half like an example (0.45)")


def test_examples_and_pages_with_feedback_are_not_asked_about() -> None:
    board = crawled()
    for n in range(12):
        board.feedback(f"/post/{n}", 1.0)
    assert "post" not in kinds(asked(board))
    board.page("/post/77", leaves=POST, texts=[("new", 400)])
    assert asked(board)[0].url == "http://h/post/77"
    assert asked(board)[0].pages == 13


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_types_surely_like_a_named_page_of_another_pattern_are_asked_about_last(label: float) -> None:
    """Prints bring t, worth t / (t + 5), of which a tenth counts."""
    board = crawled("/post/1")
    relabel(board, "print/a", label, 1.0, n=11)
    [wanted] = [each for each in asked(board) if "/print/" in each.url]
    assert wanted.value == pytest.approx(PRINTS / (PRINTS + 5) / 10)


def test_an_answer_is_asked_for_last_of_pages_like_it() -> None:
    board = crawled()
    assert kinds(asked(board)).index("list") < kinds(asked(board)).index("")
    board.feedback("/list/8", 0.0)
    [wanted] = [each for each in asked(board) if "/list/" in each.url]
    assert wanted.label == 0.0
    assert wanted.value < 0.1


def test_examples_given_later_count_at_once() -> None:
    board = crawled()
    board.shard.served.set_examples([example("/post/1")], board.shard.model)
    assert kinds(asked(board))[0] == "print"
    assert "post" not in kinds(asked(board))


def test_asking_changes_nothing_and_a_restart_asks_the_same() -> None:
    board, other = crawled("/post/1"), Board(example("/post/1"))
    before = packed(board.model.to_state())
    found = CrawlQueries(board.model).suggest_examples(5)
    assert packed(board.model.to_state()) == before
    other.model.load_state(unpacked(before))
    assert CrawlQueries(other.model).suggest_examples(5) == found


def test_policies_without_likeness_ask_nothing_and_unknown_sites_are_refused() -> None:
    board = crawled()
    assert CrawlQueries(board.model).suggest_examples(5, "h", PolicyChoice("in_degree")) == []
    with pytest.raises(NotFound, match="no-such"):
        CrawlQueries(board.model).suggest_examples(5, "no-such")
