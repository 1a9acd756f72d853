"""Orders of a stored site by the policies, asked as crawlers ask, and how soon each reaches the visits of
later days.
"""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkscore_lab.replay.prepare import SiteSource, prepare_site
from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.mining import MinedSite
from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.base import make_params
from linkscore_scoring.policies.browse_log import BehaviorDiscovery, BehaviorFetch, BehaviorOrder
from linkscore_scoring.site.learning import LearningConfig, SiteBounds
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch, PageObservation

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Mirror:
    """Pages that can be reached from the entry, in breadth-first order."""

    name: str  # Of the archive
    keys: Sequence[str]  # Identity of each page
    links: Sequence[Ids]  # Rows of the pages that each page links to, redirects followed, without itself

    def visits(self, counts: BrowseCounts) -> Floats:
        """Return the visits of each page, (n_pages,) float64; pages that were not visited have none."""
        by_url = dict(zip(counts.urls, counts.visits().tolist(), strict=True))
        return np.array([by_url.get(key, 0) for key in self.keys], dtype=np.float64)


def read_mirror(archives: Sequence[Path], *, workers: int = 0) -> Mirror:
    """Return the pages of a stored site; of several records with one identity the first counts."""
    with prepare_site([SiteSource(archives)], workers=workers) as site:
        pages = site.reachable()
        rows = {number: row for row, number in enumerate(pages)}
        links = [
            np.array([rows[to] for to in site.links[n] if to in rows and to != n], dtype=np.int64)
            for n in pages
        ]
        keys = [site.records[n].key for n in pages]
        return Mirror(site.name, keys, links)


# Liu 2011 gives its figures for 80 % of the traffic.
WANTED = 0.8


def fetch_share(order: Iterable[int], visits: Floats, wanted: float = WANTED) -> float:
    """Return the share of the pages fetched when the fetched ones have a share of all visits; 1 if never."""
    return _share(order, lambda page: float(visits[page]), visits, wanted)


def discovery_share(
    order: Iterable[int], links: Sequence[Ids], visits: Floats, wanted: float = WANTED
) -> float:
    """Return the share of the pages visited when the discovered ones have a share of all visits; 1 if never.

    A visit discovers the page itself and every page it links to.
    """
    seen = np.zeros(len(visits), dtype=np.bool_)

    def gain(page: int) -> float:
        fresh = [row for row in (page, *links[page].tolist()) if not seen[row]]
        seen[fresh] = True
        return float(visits[list(dict.fromkeys(fresh))].sum())

    return _share(order, gain, visits, wanted)


def greedy_order(links: Sequence[Ids], worth: Floats) -> list[int]:
    """Return the pages by what each adds: the most worth first that is not discovered yet.

    With the visits to come as worth it is the oracle of discovery, not a strict bound. Lazy: what a page adds
    never grows.
    """
    shows = [np.unique(np.append(to, page)) for page, to in enumerate(links)]
    hidden = worth.copy()
    heap = [(-float(worth[rows].sum()), page) for page, rows in enumerate(shows)]
    heapq.heapify(heap)
    order = []
    while heap:
        _, page = heapq.heappop(heap)
        now = -float(hidden[shows[page]].sum())
        if heap and now > heap[0][0]:
            heapq.heappush(heap, (now, page))
            continue
        order.append(page)
        hidden[shows[page]] = 0.0
    return order


def _share(order: Iterable[int], gain: Callable[[int], float], visits: Floats, wanted: float) -> float:
    target, found, n = wanted * float(visits.sum()) - 1e-9, 0.0, 0
    for page in order:
        if found >= target:
            break
        found += float(gain(page))
        n += 1
    return n / len(visits) if found >= target else 1.0


def breadth_first(mirror: Mirror) -> Iterator[int]:
    """Yield the pages by clicks from the entry."""
    yield from range(len(mirror.keys))


def by_pagerank(mirror: Mirror) -> Iterator[int]:
    """Yield the pages by PageRank in the whole link graph, which no crawler knows beforehand."""
    from linkscore_scoring.policies.link_graph import pagerank  # an annex

    sources = np.repeat(np.arange(len(mirror.keys)), [len(np.unique(to)) for to in mirror.links])
    targets = np.concatenate([np.unique(to) for to in mirror.links])
    yield from by_worth(pagerank(sources, targets, len(mirror.keys))[0])


def by_worth(worth: Floats) -> Iterator[int]:
    """Yield the pages by worth, equal ones breadth-first."""
    yield from np.argsort(-worth, kind="stable").tolist()


class PolicyOrder:
    """The pages of a site in the order of a behaviour policy, asked as a crawler asks it.

    Links wait in a queue for each bucket, first in, first out; before each visit the policy is asked for the
    values of the buckets, and after it told the page with its links. Every page of the site waits from the
    start: the order alone is judged, not how links are found.
    """

    def __init__(self, policy: str, mined: MinedSite) -> None:
        kind: type[BehaviorOrder] = BehaviorFetch if policy == BehaviorFetch.name else BehaviorDiscovery
        self.policy = kind(make_params(kind, {"fallback": "breadth_first"}))
        self.site = SiteModel("mirror", LearningConfig(), SiteBounds())
        self.site.browse = mined
        self.policy.logs_mined(self.site)

    def expected(self, mirror: Mirror) -> Floats:
        """Return the visits a day that the log lets expect of each page, (n_pages,)."""
        mined = self.site.browse
        model = mined.behavior if mined else None
        assert model is not None
        places = model.places(mirror.keys, [hash64(key) for key in mirror.keys])
        return np.array([model.demand(place) for place in places], dtype=np.float64)

    def fetches(self, mirror: Mirror) -> Iterator[int]:
        """Yield the pages by score; nothing that is fetched changes it."""
        yield from by_worth(
            self.policy.score(self._batch(mirror, np.arange(len(mirror.keys))), self.site).scores
        )

    def visits(self, mirror: Mirror) -> Iterator[int]:
        """Yield the pages as the policy wants them visited, each visit told to it."""
        everything = self.policy.score(self._batch(mirror, np.arange(len(mirror.keys))), self.site)
        waiting: dict[str, deque[int]] = defaultdict(deque)
        for page, bucket in enumerate(everything.buckets):
            waiting[bucket].append(page)
        seen: set[int] = set()
        while waiting:
            names = list(waiting)
            best = names[int(np.argmax(self.policy.value(names, self.site)))]
            page = waiting[best].popleft()
            if not waiting[best]:
                del waiting[best]
            yield page
            self._tell(mirror, page, seen)

    def _tell(self, mirror: Mirror, page: int, seen: set[int]) -> None:
        links, key = mirror.links[page], hash64(mirror.keys[page])
        told = PageObservation(1, key, mirror.keys[page], key, 0, 0, [], failed=False, refetch=False)
        told.links = self._batch(mirror, links)
        told.fresh = [row not in seen and row != page for row in links.tolist()]
        seen.update([page, *links.tolist()])
        self.policy.observe(told, self.site)

    def _batch(self, mirror: Mirror, rows: Ids) -> LinkBatch:
        urls = [mirror.keys[row] for row in rows.tolist()]
        zeros = [0] * len(urls)
        return LinkBatch(urls, list(map(hash64, urls)), zeros, zeros, zeros, zeros, [""] * len(urls))
