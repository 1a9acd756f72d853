"""What types of page a crawl consists of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from math import log2

UNLABELLED = "(no label)"
MAX_POINTS = 100


def entropy(order: Collection[str], types: Mapping[str, str]) -> float:
    """Return the entropy of the page types fetched, in bits: 0 for one type, log2(k) for k in equal parts.

    Fetches without label count as one type more. Source: Xu, Gao and Callan 2018, eq. 13.
    """
    counts = Counter(types.get(key, UNLABELLED) for key in order)
    return sum(n / len(order) * log2(len(order) / n) for n in counts.values())  # eq. 13


def even_points(n: int, most: int = MAX_POINTS) -> list[int]:
    """Return at most `most` evenly spaced numbers of fetches in 1..n, the last of them n; none for n = 0."""
    k = min(n, most)
    return [i * n // k for i in range(1, k + 1)]


def composition(
    order: Sequence[str], types: Mapping[str, str], most: int = MAX_POINTS
) -> dict[str, list[int]]:
    """Return how many pages of each type had been fetched at each of `even_points`; most frequent first."""
    points, counts = set(even_points(len(order), most)), Counter[str]()
    looks = []
    for n, key in enumerate(order, start=1):
        counts[types.get(key, UNLABELLED)] += 1
        if n in points:
            looks.append(counts.copy())
    return {name: [look[name] for look in looks] for name, _ in counts.most_common()}
