"""A board whose browse log was mined."""

from __future__ import annotations

from collections import Counter

import numpy as np

from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts
from linkscore_scoring.browse_logs.mining import mine_site
from linkscore_scoring.engine.events import LogsMined
from linkscore_scoring.state import plain
from support.boards import ROOT, Board

DAYS = 30


def logged(policy: str, *, board: Board | None = None, **params: object) -> Board:
    """Return a board with a log: a thread a day, found through two lists; old threads and profiles are quiet.

    Thread 100 + t is born on day t and has eight visits a day for three days, from the list of its forum; the
    lists have twenty visits a day from outside, thread t and profile t one in all.
    """
    board = board or Board(policy, **params)
    mined = plain(mine_site(board_counts()))
    board.model.apply(board.model.seq + 1, LogsMined("h", mined))
    return board


def board_counts() -> BrowseCounts:
    """Return the counts of that log."""
    records: Counter[tuple[int, str, str]] = Counter()
    for day in range(DAYS):
        records.update({(day, f"/list?f={forum}", ""): 20 for forum in (1, 2)})
        records.update(
            {(day, f"/show?t={100 + b}", f"/list?f={b % 2 + 1}"): 8 for b in range(max(0, day - 2), day + 1)}
        )
        records.update({(day, f"/who?u={day}", f"/show?t={100 + day}"): 1, (day, f"/show?t={day}", ""): 1})
    urls = list(dict.fromkeys(page for _, page, _ in records))
    rows = {url: row for row, url in enumerate(urls)}
    cells = [(rows[page], day, n) for (day, page, _), n in records.items()]
    ways = [(rows.get(origin, OUTSIDE), rows[page], n) for (_, page, origin), n in records.items()]
    columns = [
        np.array(column, dtype=np.int64) for table in (cells, ways) for column in zip(*table, strict=True)
    ]
    return BrowseCounts(0, DAYS, [ROOT + url for url in urls], *columns)
