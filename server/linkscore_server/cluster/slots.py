"""Slots: what is handed from one process of a cluster to another, each a set of shards."""

from __future__ import annotations

from functools import cache
from itertools import count
from math import gcd

from linkscore_scoring.engine.groups import Shard
from linkscore_server.routing.owners import place_of

_GOLDEN = (5**0.5 - 1) / 2
SLOTS = 64
"""Slots of a new cluster, a partition of its topic each: fixed then. More processes than these have nothing
to do, and one more or less moves a 64th at a time. Chosen, not measured."""


def slot_of(shard: Shard, slots: int) -> int:
    """Return the slot of a shard: crawls begin anywhere, and the groups of one are far from each other.

    The brokers give each process a run of slots, so that groups in slots side by side would all be of one.
    Steps of the golden ratio spread any number of them evenly (Knuth, Art of Computer Programming 3, 6.4).

    Examples
    --------
    >>> [(slot_of(Shard("books", group, 4), 64) - slot_of(Shard("books"), 64)) % 64 for group in range(4)]
    [0, 41, 18, 59]
    """
    first = place_of(Shard(shard.crawl), slots)
    return (first + shard.group * _step(slots)) % slots


@cache
def _step(slots: int) -> int:
    """Return a number near the golden ratio of the slots by which all of them are reached."""
    return next(step for step in count(round(slots * _GOLDEN)) if gcd(step, slots) == 1)
