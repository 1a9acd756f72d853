"""Orders of a site's pages: those of the policies, asked as crawlers ask, and what they are held against."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from linkscore_lab.experiments.browse_logs.behavior.mirror import Mirror
from linkscore_scoring.browse_logs.mined import MinedSite
from linkscore_scoring.graph.pagerank import pagerank
from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.browse_log.behavior_discovery import BehaviorDiscovery
from linkscore_scoring.policies.browse_log.behavior_fetch import BehaviorFetch
from linkscore_scoring.policies.browse_log.behavior_order import BehaviorOrder
from linkscore_scoring.policies.params import make_params
from linkscore_scoring.site.config import LearningConfig, SiteBounds
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch, PageObservation, links_of_page

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


def breadth_first(mirror: Mirror) -> Iterator[int]:
    """Yield the pages by clicks from the entry."""
    yield from range(len(mirror.keys))


def by_pagerank(mirror: Mirror) -> Iterator[int]:
    """Yield the pages by PageRank in the whole link graph, which no crawler knows beforehand."""
    sources = np.repeat(np.arange(len(mirror.keys)), [len(np.unique(to)) for to in mirror.links])
    targets = np.concatenate([np.unique(to) for to in mirror.links])
    yield from by_worth(pagerank(sources, targets, len(mirror.keys)).total)


def by_worth(worth: Floats) -> Iterator[int]:
    """Yield the pages by worth, equal ones breadth-first."""
    yield from np.argsort(-worth, kind="stable").tolist()


class PolicyOrder:
    """The pages of a site in the order of a behaviour policy, asked as a crawler asks it.

    Links wait in a queue for each bucket, first in, first out; before each visit the policy is asked for the
    values of the buckets, and after it told the page with its links. Every page of the site waits from the
    start: the order alone is judged, not how links are found.

    Parameters
    ----------
    policy, params
        Name and parameters.
    mined
        What the log gave.
    """

    def __init__(self, policy: str, mined: MinedSite, **params: object) -> None:
        kind: type[BehaviorOrder] = BehaviorFetch if policy == BehaviorFetch.name else BehaviorDiscovery
        self.policy = kind(make_params(kind, {"fallback": "breadth_first", **params}))
        self.site = SiteModel("mirror", LearningConfig(), SiteBounds())
        self.site.browse = mined
        self.policy.logs_mined(self.site)

    def expected(self, mirror: Mirror) -> Floats:
        """Return the visits a day that the log lets expect of each page, (n_pages,)."""
        model = self.site.browse.behavior if self.site.browse else None
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
        return links_of_page(urls, list(map(hash64, urls)), zeros, zeros, [""] * len(urls), source=0, depth=0)
