"""With labels, kinds of pages nobody opened are granted a few tries."""

from __future__ import annotations

from linkscore_scoring.policies.harvest import Tunables
from support.boards import Board

LIST = "html/body/ul/li/a"
MENU = "html/body/nav/a"
GRANTED = Tunables().wanted


def opened(tries: int) -> Board:
    """A board where threads were opened and none is wanted, and about pages `tries` times."""
    board = Board("harvest")
    threads = [(f"/thread/{n}", LIST) for n in range(9)]
    board.page("/", [*threads, *((f"/about/{n}", MENU) for n in range(9)), ("/people", MENU)])
    for path in [f"/thread/{n}" for n in range(6)] + [f"/about/{n}" for n in range(tries)]:
        board.page(path, texts=[(path, 50)])
        board.feedback(path, 0.0)
    return board


def value(board: Board, path: str) -> float:
    score = board.scores(path)[0]
    return score / (1.0 - score)


def test_a_kind_nobody_opened_comes_before_one_that_brought_nothing() -> None:
    board = opened(0)
    assert value(board, "/about/8") > GRANTED / 2 > value(board, "/thread/8")


def test_what_is_granted_falls_with_each_try_and_ends_with_the_third() -> None:
    values = [value(opened(tries), "/about/8") for tries in range(4)]
    assert values == sorted(values, reverse=True)
    assert values[2] > 3 * values[3]
