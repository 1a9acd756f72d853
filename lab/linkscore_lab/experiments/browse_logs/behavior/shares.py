"""Share of a site's pages that an order needs for a share of its visits."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]

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
