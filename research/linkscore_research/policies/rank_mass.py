"""RankMass: fetch what is sure to hold the most personalised PageRank, by a lower bound that grows."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

from linkscore_scoring.policies.base import Explanation, Params, Term, within
from linkscore_scoring.policies.link_graph import Arrival, UrlValuePolicy
from linkscore_scoring.state import Stored
from linkscore_scoring.types import PageObservation

FLOOR = 1e-12
"""Mass that is not passed on any more; loops would pass it for ever."""

Entry = tuple[float, int]

STEPS_A_PAGE = 20
"""Pages fetched before that pass mass on again, at most, for one page fetched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankMassParams(Params):
    """Parameters of `rank_mass`: `damping`, the share of mass a page hands on, [0, 0.99]."""

    damping: float = within(0.85, 0.0, 0.99)


class RankMass(UrlValuePolicy):
    """Fetch the URL that most mass waits at; pages fetched before pass theirs on whenever they hold more.

    A seed starts with 1 - damping. A page that is fetched counts its mass r as covered and gives damping x
    r / c to each of its c links; mass that reaches a page fetched before waits there until it is as much as
    any unfetched URL has, or as the page just fetched had; then it is covered and passed on without a fetch.
    So values move beyond the links of the page. Covered mass / seeds is the share of
    personalised PageRank, trust spread over the seeds, that the pages fetched are sure to hold.

    Shapes: n links in, (n,) float64 out. Cost: O(n), and O(links) of up to `STEPS_A_PAGE` pages for a page.
    References: Cho and Schonfeld 2007, algorithm RankMass. Differences from the paper: masses are not divided
    by the number of seeds, so that a late seed changes no score; a URL that the crawler never fetches does
    not keep the others from passing mass on; no more than `STEPS_A_PAGE` pages pass mass on again at a time,
    the rest at the next page; mass below `FLOOR` and of failed pages is lost.

    Examples
    --------
    >>> from linkscore_scoring.testing.crawl import scores_after
    >>> scores_after("rank_mass", {"/": ["/x", "/y"], "/x": ["/y", "/z"]})  # both pages link to /y
    {'/y': 0.218, '/z': 0.16}
    """

    name = "rank_mass"
    Params = RankMassParams

    covered: Stored[float]
    seeds: Stored[int]

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self._heaps: tuple[list[Entry], list[Entry]] = ([], [])

    def coverage(self) -> float:
        """Return the share of personalised PageRank that pages fetched are sure to hold, [0, 1]."""
        return self.covered / self.seeds if self.seeds else 0.0

    def spread(self, page: PageObservation, arrival: Arrival) -> None:
        """Pass the mass of a page on, then that of pages fetched before while it is the largest."""
        if arrival.is_seed:
            self.seeds += 1
            self.values[arrival.page] = 1.0 - self.params.damping
        if page.failed and not self.fetched.get(arrival.page):
            self.values[arrival.page] = 0.0
        if not arrival.is_first:
            return
        targets = self.targets(page)
        self.link(arrival.page, targets)
        bar = self.values[arrival.page]
        self._pass_on(arrival.page)
        self._settle(bar)

    def _pass_on(self, page: int) -> None:
        """Cover the mass of a page fetched, and give its links their share."""
        values, links = self.values, self.out[page].tolist() if page in self.out else []
        self.covered += (mass := values[page])
        values[page] = 0.0
        targets = [
            to for to in dict.fromkeys(map(self.moved.get, links, links)) if to != page and to in values
        ]
        share = self.params.damping * mass / max(1, len(targets))
        for target in targets:
            values[target] += share
            heappush(self._heaps[target not in self.fetched], (-values[target], target))

    def _settle(self, bar: float) -> None:
        """Let fetched pages pass mass on while they hold as much as `bar`, or as any unfetched URL."""
        for _ in range(STEPS_A_PAGE):
            most, page = self._top(is_open=False)
            if most < FLOOR or most < min(bar, self._top(is_open=True)[0]):
                return
            self._pass_on(page)

    def _top(self, *, is_open: bool) -> tuple[float, int]:
        """Return the most mass that an unfetched URL, or a fetched page, holds, and which; ties by hash."""
        heap = self._heaps[is_open]
        if len(heap) > 4 * len(self.values) + 1_000:
            self._rebuild()
            heap = self._heaps[is_open]
        while heap and not self._is_current(*heap[0], is_open):
            heappop(heap)
        return (-heap[0][0], heap[0][1]) if heap else (0.0, -1)

    def _is_current(self, negative_mass: float, page: int, is_open: bool) -> bool:
        return self.values.get(page) == -negative_mass and (page not in self.fetched) == is_open

    def _rebuild(self) -> None:
        """Make the heaps anew, from the masses as they are."""
        self._heaps = [], []
        for page, mass in self.values.items():
            if mass > 0.0:
                self._heaps[page not in self.fetched].append((-mass, page))
        for heap in self._heaps:
            heapify(heap)

    def reason(self, value: float) -> Explanation:
        """Name the mass, and what is covered already."""
        return Explanation(
            f"mass {value:.3g} waits at it",
            [
                Term("mass", value, "least personalised PageRank of the URL, times the number of seeds"),
                Term("coverage", self.coverage(), "least personalised PageRank of the pages fetched"),
            ],
        )

    def after_load(self) -> None:
        """Make the heaps anew."""
        self._rebuild()
