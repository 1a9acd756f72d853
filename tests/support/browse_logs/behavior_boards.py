"""A board whose browse log was mined."""

from __future__ import annotations

from linkscore_scoring.browse_logs.mining import mine_site
from linkscore_scoring.engine.events import LogsMined
from linkscore_scoring.state import plain
from support.boards import Board
from support.browse_logs.records import board_log


def logged(policy: str, *, board: Board | None = None, **params: object) -> Board:
    """Return a board with a log: a thread a day, found through two lists; old threads and profiles are quiet.

    Thread 100 + t is born on day t and has eight visits a day for three days, from the list of its forum; the
    lists have twenty visits a day from outside, thread t and profile t one in all.
    """
    board = board or Board(policy, **params)
    mined = plain(mine_site(board_log()))
    board.model.apply(board.model.seq + 1, LogsMined("h", mined))
    return board
