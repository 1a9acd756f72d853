"""The harvest curve, and how early it rises."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate

from linkscore_lab.metrics.ratios import ratio


def harvest_curve(order: Iterable[str], wanted: Collection[str]) -> list[int]:
    """Return good(n) for n = 1, 2, ...: wanted pages among the first n fetches."""
    return list(accumulate(int(key in wanted) for key in order))


def area(curve: Sequence[int], n_reachable: int, percent: int) -> float:
    """Return the area under the harvest curve over the first `percent` of a site, in [0, 1].

    The sum of good(n) over n = 1..N divided by N (N + 1) / 2, N = `percent` of the reachable pages, rounded
    down. A crawl that ends before N fetches keeps its last value; 0 where N is 0.

    Parameters
    ----------
    curve
        good(n) for n = 1, 2, ...
    n_reachable
        Reachable pages of the site.
    percent
        Share of the site looked at, in [0, 100].
    """
    n_early = n_reachable * percent // 100
    early = curve[:n_early]
    missing = n_early - len(early)
    total = sum(early) + missing * (early[-1] if early else 0)
    return ratio(total, n_early * (n_early + 1) / 2)


def fetches_to(curve: Iterable[int], n_wanted: int, percent: int) -> int | None:
    """Return how many fetches it took to have `percent` of the wanted pages; None if it never had them."""
    needed = -(-n_wanted * percent // 100)
    if not needed:
        return None
    return next((n for n, good in enumerate(curve, start=1) if good >= needed), None)
