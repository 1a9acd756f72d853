"""A stored site as orders are judged on it: its pages, where they link to, and what they look like."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkscore_lab.replay.prepare import Source, prepare_site
from linkscore_lab.replay.stored import StoredSite
from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.features.bags import plain_bag

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Mirror:
    """Pages that can be reached from the entry, in breadth-first order.

    Attributes
    ----------
    name
        Of the archive.
    keys
        Identity of each page.
    links
        Rows of the pages that each page links to, redirects followed, without itself.
    layouts
        Bag of tag paths of each page.
    """

    name: str
    keys: Sequence[str]
    links: Sequence[Ids]
    layouts: Sequence[Mapping[str, int]]

    def visits(self, counts: BrowseCounts) -> Floats:
        """Return the visits of each page, (n_pages,) float64; pages that were not visited have none."""
        by_url = dict(zip(counts.urls, counts.visits().tolist(), strict=True))
        return np.array([by_url.get(key, 0) for key in self.keys], dtype=np.float64)


def read_mirror(archives: Sequence[Path], *, workers: int = 0) -> Mirror:
    """Return the pages of a stored site; of several records with one identity the first counts."""
    with prepare_site([Source(archives)], workers=workers) as site:
        pages = site.reachable()
        rows = {number: row for row, number in enumerate(pages)}
        links = [
            np.array([rows[to] for to in site.links[n] if to in rows and to != n], dtype=np.int64)
            for n in pages
        ]
        keys = [site.records[n].key for n in pages]
        return Mirror(site.name, keys, links, [_layout(site, n) for n in pages])


def layout_likeness(a: Mapping[str, int], b: Mapping[str, int]) -> float:
    """Return the cosine of two bags of tag paths, counts as ln(1 + n); 0 if one is empty."""
    one, two = ({path: math.log1p(n) for path, n in bag.items()} for bag in (a, b))
    product = sum(weight * two[path] for path, weight in one.items() if path in two)
    norms = math.sqrt(sum(w * w for w in one.values()) * sum(w * w for w in two.values()))
    return product / norms if norms else 0.0


def _layout(site: StoredSite, number: int) -> Mapping[str, int]:
    event = site.event(number)
    return Counter(plain_bag(event.features.paths)) if event and event.features else {}
