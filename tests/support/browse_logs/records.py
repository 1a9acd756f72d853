"""Small browse logs for tests: records by hand, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts

Record = tuple[int, str, str]
"""Day, page and referrer as paths; the referrer is empty for one from outside."""


def counted(records: Iterable[Record], n_days: int, root: str = "http://h") -> BrowseCounts:
    """Return the counts of some records."""
    records = list(records)
    ids: dict[str, int] = {}
    clicks: Counter[tuple[int, int]] = Counter()
    transits: Counter[tuple[int, int]] = Counter()
    for day, page, referrer in records:
        to = ids.setdefault(root + page, len(ids))
        origin = ids.setdefault(root + referrer, len(ids)) if referrer else OUTSIDE
        clicks[to, day] += 1
        transits[origin, to] += 1

    def columns(counts: Counter[tuple[int, int]]) -> list[np.ndarray]:
        rows = [(*pair, n) for pair, n in counts.items()] or [(0, 0, 0)][:0]
        return list(np.array(rows, dtype=np.int64).reshape(-1, 3).T)

    return BrowseCounts(0, n_days, list(ids), *columns(clicks), *columns(transits))


def board_log(n_days: int = 30) -> BrowseCounts:
    """Return the log of a board: a thread a day, found through two lists; old threads and profiles are quiet.

    Thread `t` is born on day `t` - 100 and has eight visits a day for three days, from the list of its forum;
    the lists have twenty visits a day from outside, each profile one in all.
    """
    records: list[Record] = []
    for day in range(n_days):
        for forum in (1, 2):
            records += [(day, f"/list?f={forum}", "")] * 20
        for born in range(max(0, day - 2), day + 1):
            records += [(day, f"/show?t={100 + born}", f"/list?f={born % 2 + 1}")] * 8
        records.append((day, f"/who?u={day}", f"/show?t={100 + day}"))
        records.append((day, f"/show?t={day}", ""))
    return counted(records, n_days)
