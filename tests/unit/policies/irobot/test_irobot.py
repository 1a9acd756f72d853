"""The sitemap of a crawled board: its tree is followed, the rest is dropped."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.policies.base import FOLLOW, SKIP
from linkscore_scoring.testing.crawl import visit
from linkscore_scoring.testing.pages import page_of
from support.boards import ROOT, Board

BOARDS = "html/body/table/tr/td/a"
THREADS = "html/body/ul/li/a"
NEXT = "html/body/p/a[pager]"
HELP = "html/body/a[help]"


def crawled(*, anchor: str = "next", **params: object) -> Board:
    """Crawl four hubs, eight boards that page through each other, and twelve threads; learned at 24 pages."""
    board = Board("irobot", sample_pages=24, **params)
    for n in range(4):
        board.page(f"/hub-{n}", [(f"/board-{m}", BOARDS) for m in range(8)])
    for n in range(8):
        links = [(f"/thread-{2 * n + m}", THREADS) for m in range(2)]
        page = page_of(
            f"{ROOT}/board-{n}",
            links=[(ROOT + path, at) for path, at in [*links, (f"/board-{(n + 1) % 8}", NEXT)]],
        )
        page.links.anchors[-1] = anchor
        visit(board.model, f"{ROOT}/board-{n}", page)
    for n in range(12):
        leaves = ["html/body/div/h1/text()", *["html/body/div/p/text()"] * (n % 2 + 2)]
        board.page(f"/thread-{n}", [("/rules", HELP)], leaves=leaves, texts=[(f"t{n}", 400)])
    return board


def verdicts(board: Board) -> dict[str, int]:
    """Return the verdicts on the links of a new board page."""
    links = [("/thread-90", THREADS), ("/board-91", NEXT), ("/rules", HELP), ("/thread-92", HELP)]
    found = board.page("/board-80", links).links
    assert found.verdicts is not None
    return dict(zip([path for path, _ in links], found.verdicts, strict=True))


def test_before_learning_planned_links_come_first_and_nothing_is_dropped() -> None:
    board = Board("irobot", sample_pages=24)
    found = board.page("/", [(f"/x-{n}", BOARDS) for n in range(3)]).links
    assert sorted(found.scores.tolist()) == [0.25, 0.25, 0.9]
    assert found.verdicts is None
    assert board.explain("/x-1")[0].explanation.summary.endswith("sampling plan first, then breadth-first")


def test_the_tree_and_page_flipping_are_followed_and_the_rest_is_dropped() -> None:
    assert verdicts(crawled()) == {
        "/thread-90": FOLLOW,
        "/board-91": FOLLOW,
        "/rules": SKIP,
        "/thread-92": SKIP,
    }


def test_links_between_boards_are_no_page_flipping_without_such_anchors() -> None:
    assert verdicts(crawled(anchor="Astronomy"))["/board-91"] == SKIP


@pytest.mark.parametrize("anchor", ["12", " Next page ", "»", "prev", "OLDER posts"])
def test_numbers_arrows_and_words_flip_pages(anchor: str) -> None:
    assert verdicts(crawled(anchor=anchor))["/board-91"] == FOLLOW


def test_links_to_the_most_informative_kind_score_best() -> None:
    """Threads are worth 1 (score 1), boards one click before them 0.5 (score 0.75), dropped links 0.05."""
    board = crawled(coverage=0.5)
    found = board.page("/board-80", [("/thread-90", THREADS), ("/board-91", NEXT), ("/rules", HELP)]).links
    assert found.scores.tolist() == pytest.approx([1.0, 0.75, 0.05])


def test_links_found_while_sampling_are_judged_by_pattern_and_place() -> None:
    board = Board("irobot", sample_pages=24)
    board.model = crawled().model
    value = CrawlQueries(board.model).rank_buckets(
        [_bucket(board, "/thread-3", THREADS), _bucket(board, "/rules", HELP)]
    )[1]
    assert value.tolist() == pytest.approx([1.0, 0.05])


def _bucket(board: Board, path: str, link_path: str) -> str:
    model = board.shard.model
    pattern = model.patterns.levels(ROOT + path)[-1]
    return f"h/s1.{model.link_paths.find(link_path).id:x}.{pattern}"


def test_reasons_name_the_arc() -> None:
    board = crawled()
    why = board.explain("/thread-3", "/rules")
    assert "leads to cluster" in why[0].explanation.summary
    assert "/thread-#" in why[0].explanation.summary
    assert why[1].explanation.summary.startswith("none of the ")


@pytest.mark.parametrize(
    ("params", "field"),
    [({"coverage": 0.0}, "coverage"), ({"coverage": 1.1}, "coverage"), ({"flip_share": 0.0}, "flip_share")],
)
def test_bad_parameters_are_refused_by_name(params: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        PolicyChoice("irobot", params).checked()
    assert field in {problem.field for problem in caught.value.problems}
