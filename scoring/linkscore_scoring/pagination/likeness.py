"""How alike two pages are by their tag paths."""

from __future__ import annotations

from collections.abc import Mapping
from math import log1p, sqrt

from linkscore_scoring.features.hashing import hash64

MAX_PATHS = 300
"""Tag paths of a page that are kept, the most frequent ones."""


def bag_of_hashes(bag: Mapping[str, int]) -> dict[int, int]:
    """Return the most frequent tag paths by hash; ties in order of the text."""
    kept = sorted(bag.items(), key=lambda item: (-item[1], item[0]))[:MAX_PATHS]
    return {hash64(path): count for path, count in kept}


def cosine(one: Mapping[int, int], other: Mapping[int, int]) -> float:
    """Return the cosine of two bags of tag paths, in [0, 1]; 0 if one is empty. Cost O(paths).

    A path that occurs c times weighs ln(c + 1), so that a last page with few records is still like the first.
    """
    if len(one) > len(other):
        one, other = other, one
    dot = sum(log1p(count) * log1p(other[path]) for path, count in one.items() if path in other)
    norm = sqrt(_square(one) * _square(other))
    return dot / norm if norm else 0.0


def _square(bag: Mapping[int, int]) -> float:
    return sum(log1p(count) ** 2 for count in bag.values())
