"""Which buckets the next fetches come from: bids of groups of sites, then one choice among them.

Fetches are chosen one by one: each from the bucket that is worth most once those before it count as begun.
Sites do not know of each other there, but for two things: how many places are free in all, and who is worth
more. So each group of sites says beforehand in which order it would begin fetches and what each would be
worth then (`bids`), and the places are handed out by these lists (`award`). The sites of one process are one
group.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush, merge
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.engine.fetch_plan import BucketEntry, FetchPlan, SiteInFlight, keeps_filling

_MAX_VALUED = 50_000
"""A bound, chosen: buckets valued anew in one question. Beyond it the last known values decide."""


class Bid(NamedTuple):
    """A fetch that a group would begin.

    Attributes
    ----------
    cost
        Minus its value then: the least bid counts first, and among equal ones the first row.
    row
        Of its bucket in the question.
    site
        Number of its site among those of the group.
    begun
        Fetches of the site under way before it.
    floor
        Value below which it rather waits for them.
    """

    cost: float
    row: int
    site: int
    begun: int
    floor: float

    def waits(self, free: int) -> bool:
        """Whether the link is left for the answers that are out, with so many places free."""
        return -self.cost < self.floor and not keeps_filling(self.begun, free)


def bids(entries: Sequence[BucketEntry], values: NDArray[np.float64], n: int) -> list[Bid]:
    """Return the fetches that a group would begin with n places, best first.

    More than n if some of them may rather wait: whether they do depends on the places left to all. Fewer if
    nothing more waits or no site has a place left. Changes what the sites count as begun. Values only fall
    while fetches begin, so a bucket is valued anew only when its turn comes. Cost: O(n_rows) and O((n +
    valuations) log n_rows), of which there are 50,000 at most.

    Parameters
    ----------
    entries
        One for each bucket.
    values
        Value of each row at the beginning, (n_rows,).
    """
    numbers = {id(site): number for number, site in enumerate({id(e.site): e.site for e in entries}.values())}
    of_row = {entry.row: entry for entry in entries}
    heap = [(-float(values[e.row]), e.row, _begun(e.site)) for e in entries if e.waiting]
    heapify(heap)
    taken, found = dict.fromkeys(of_row, 0), list[Bid]()
    sure = valued = 0
    while heap and sure < n:
        cost, row, begun = heappop(heap)
        entry = of_row[row]
        site = entry.site
        if taken[row] >= entry.waiting or (site is not None and not site.has_place):
            continue
        if site is not None and site.begun != begun and valued < _MAX_VALUED:
            valued += 1
            heappush(heap, (-site.value(entry.name, -cost), row, site.begun))
            continue
        begun, floor = (site.begun, site.floor) if site is not None else (0, 0.0)
        bid = Bid(cost, row, numbers[id(site)], begun, floor)
        if bid.waits(n):  # and still does with less places free: nothing of the site comes any more
            continue
        found.append(bid)
        sure += not bid.waits(0)
        taken[row] += 1
        if site is not None:
            site.begin(entry.name)
        heappush(heap, (cost, row, begun))
    return found


def award(groups: Sequence[Sequence[Bid]], values: NDArray[np.float64], n: int) -> FetchPlan:
    """Hand out n fetches by the bids of groups, whose rows are those of the whole question.

    Parameters
    ----------
    groups
        Bids of each, as `bids` returned them.
    values
        Value of each row at the beginning, (n_rows,).
    """
    takes = np.zeros(len(values), dtype=np.int64)
    closed: set[tuple[int, int]] = set()
    named = ([(bid, group) for bid in of_group] for group, of_group in enumerate(groups))
    left = n
    for bid, group in merge(*named, key=lambda pair: pair[0][:2]):
        if not left:
            break
        if (group, bid.site) in closed:
            continue
        if bid.waits(left):
            closed.add((group, bid.site))
            continue
        takes[bid.row] += 1
        left -= 1
    return FetchPlan(values, takes)


def _begun(site: SiteInFlight | None) -> int:
    return site.begun if site is not None else 0
