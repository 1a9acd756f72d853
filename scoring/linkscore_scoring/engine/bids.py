"""Which buckets the next fetches come from when groups of sites are asked apart: bids, then one choice.

`fetch_plan.allot` chooses fetches one by one. Sites do not know of each other there, but for two things: how
many places are free in all, and who is worth more. So each group can say beforehand in which order it would
begin fetches, and what each would be worth then; `award` hands out the places by these lists as `allot`
would have, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush, merge
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.engine.fetch_plan import BucketEntry, FetchPlan, SiteInFlight, keeps_filling


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

    More than n if some of them may rather wait: whether they do depends on the places left to all. Changes
    what the sites count as begun. Cost as of `allot`.

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
    taken, found, sure = dict.fromkeys(of_row, 0), list[Bid](), 0
    while heap and sure < n:
        cost, row, begun = heappop(heap)
        entry = of_row[row]
        site = entry.site
        if taken[row] >= entry.waiting or (site is not None and not site.has_place):
            continue
        if site is not None and site.begun != begun:
            heappush(heap, (-site.value(entry.name, -cost), row, site.begun))
            continue
        bid = Bid(cost, row, numbers[id(site)], begun, site.floor if site is not None else 0.0)
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
