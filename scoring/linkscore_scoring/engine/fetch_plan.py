"""Which buckets the next fetches come from while the answers of others are out.

Fetches are chosen one by one: each from the bucket that is worth most once those before it are in flight.
Sites do not know of each other there, but for who is worth more. So each group of sites says beforehand in
which order it would begin fetches and what each would be worth then (`offers`), and the places are handed out
by these lists (`allocate`). The sites of one process are one group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, merge
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.policies.answers import FetchesInFlight, best_first
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.model import SiteModel

_MAX_VALUED = 50_000
"""A bound, chosen: buckets valued anew in one question. Beyond it the last known values decide."""


@dataclass(slots=True)
class FetchPlan:
    """What buckets are worth now, and how many links of each to fetch before asking again.

    `values`: (n_buckets,) float64 in [0, 1], what is in flight counted. `takes`: (n_buckets,) int64.
    """

    values: NDArray[np.float64]
    takes: NDArray[np.int64]

    def order(self, at_most: int = 0) -> NDArray[np.int64]:
        """Return buckets best first, ties as given; `at_most` (0: all) cuts only those given nothing."""
        return best_first(self.values, self.takes, at_most)


class SiteInFlight:
    """The buckets of one site in a question, with what is in flight there.

    Policy and model are held only once something is: a question may name more sites than fit in memory.

    `look`: gives policy and model of the site, the same each time. `under_way`: fetches begun and not
    answered, by bucket. `fill`: whether all places are to be filled, however little is known.

    `asked`: how many fetches there are in the question. `in_flight`: those, and the ones that this question
    began.
    """

    def __init__(
        self,
        look: Callable[[], tuple[Policy, SiteModel]],
        under_way: Mapping[str, int],
        *,
        fill: bool = False,
    ) -> None:
        self._look, self._under_way, self._fill = look, under_way, fill
        self._is_counting = False
        self._counted: FetchesInFlight | None = None
        self._places: int | None = None
        self.asked = self.in_flight = sum(under_way.values())

    def values(self, buckets: Sequence[str]) -> NDArray[np.float64]:
        """Return the value of each bucket."""
        if self.in_flight and (counted := self._count()) is not None:
            return counted.values(buckets)
        policy, model = self._look()
        return policy.value(buckets, model)

    @property
    def floor(self) -> float:
        """Value below which a link may wait for the answers that are out; 0 if none ever does."""
        counted = None if self._fill else self._count()
        return 0.0 if counted is None else counted.floor

    @property
    def has_place(self) -> bool:
        """Whether one more fetch may begin."""
        if not self._fill:
            self._count()
        return self._fill or self._places is None or self.in_flight < self._places

    def begin(self, bucket: str) -> None:
        """Count one more fetch."""
        counted = self._count()
        self.in_flight += 1
        if counted is not None:
            counted.begin(bucket)

    def value(self, bucket: str, last: float) -> float:
        """Return the value of a bucket by now, that was worth `last` before."""
        counted = self._count()
        return counted.value(bucket) if counted is not None else last

    def _count(self) -> FetchesInFlight | None:
        """Return what the policy counts fetches in, None if they make no difference to it."""
        if not self._is_counting:
            policy, site = self._look()
            self._is_counting, self._counted = True, policy.in_flight(site)
            if self._counted is not None:
                self._places = self._counted.places
                for bucket, n in self._under_way.items():
                    self._counted.begin(bucket, n)
        return self._counted


@dataclass(frozen=True, slots=True)
class BucketEntry:
    """A bucket in a question: its row, its site if that is known, its name there, and how many links wait."""

    row: int
    site: SiteInFlight | None
    name: str
    waiting: int


class Offer(NamedTuple):
    """A fetch that a group would begin.

    `cost`: minus its value then: the least offer counts first, and among equal ones the first row. `row`: of
    its bucket in the question.
    """

    cost: float
    row: int


def offers(
    rows: NDArray[np.int64], entry_of: Callable[[int], BucketEntry], values: NDArray[np.float64], n: int
) -> list[Offer]:
    """Return the fetches that a group would begin with n places, best first.

    Fewer than n if nothing more is worth one or no site has a place left. Changes what the sites count as in
    flight. Values only fall while fetches begin, so a bucket is valued anew when its turn comes. Cost: a sort
    of the rows and O((n + valuations) log n_rows), of which there are 50,000 at most.

    `rows`: rows of buckets of which links wait, ascending. `entry_of`: the bucket of a row. `values`: value
    of each row at the beginning, (n_rows,).
    """
    waiting = rows[np.argsort(-values[rows], kind="stable")]
    turns = zip((-values[waiting]).tolist(), waiting.tolist(), strict=True)
    entries: dict[int, BucketEntry] = {}
    heap: list[tuple[float, int, int]] = []  # cost, row, and in flight when that was its cost
    taken, found = Counter[int](), list[Offer]()
    ahead = next(turns, None)
    valued = 0
    while (heap or ahead) and len(found) < n:
        if ahead is not None and not (heap and heap[0] < ahead):
            cost, row = ahead
            entry = entries[row] = entry_of(row)
            in_flight = entry.site.asked if entry.site is not None else 0
            ahead = next(turns, None)
        else:
            cost, row, in_flight = heappop(heap)
            entry = entries[row]
        site = entry.site
        if taken[row] >= entry.waiting or (site is not None and not site.has_place):
            continue
        if site is not None and site.in_flight != in_flight and valued < _MAX_VALUED:
            valued += 1
            heappush(heap, (-site.value(entry.name, -cost), row, site.in_flight))
            continue
        if site is not None:
            if site.in_flight and -cost < site.floor:
                continue
            site.begin(entry.name)
        found.append(Offer(cost, row))
        taken[row] += 1
        heappush(heap, (cost, row, in_flight))
    return found


def allocate(groups: Sequence[Sequence[Offer]], values: NDArray[np.float64], n: int) -> FetchPlan:
    """Hand out n fetches by the offers of groups, whose rows are those of the whole question.

    `groups`: offers of each, as `offers` returned them. `values`: value of each row at the beginning,
    (n_rows,).
    """
    takes = np.zeros(len(values), dtype=np.int64)
    for offer in islice(merge(*groups), n):
        takes[offer.row] += 1
    return FetchPlan(values, takes)
